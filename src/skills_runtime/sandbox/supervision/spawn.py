"""Turns a request into a running program: own session, own terminal if asked for, nothing inherited but its streams."""

import errno
import fcntl
import os
import signal
from collections.abc import Mapping, Sequence
from typing import Any

from .kernel import IGNORED_BY_PYTHON
from .limits import EndedEarly, Fallen, Limiting, lower_priority
from .mounts import ChangedMeanwhile, Mount, check_places

STREAMS = 3
FIRST_INPUT = 3
ABOVE_INPUTS = 64
"""Where descriptors wait for their number, so that none is overwritten by another."""


class SpawnFailed(Exception):
    """The program did not start: which step failed, with which number of the system."""

    def __init__(self, step: str, error: OSError) -> None:
        super().__init__(step, error)
        self.step = step
        self.number = error.errno or 0


def spawn(request: Mapping[str, Any], streams: Sequence[int]) -> int:
    """Start the program and return its number once it really runs."""
    mounts = [(raw(point), raw(source), raw(place)) for point, source, place in request["mounts"]]
    _look(mounts)
    try:
        return _run(request, streams, mounts)
    except OSError as error:
        raise SpawnFailed("exec", error) from error


def _run(request: Mapping[str, Any], streams: "Sequence[int]", mounts: "Sequence[Mount]") -> int:
    _enter(raw(request["cwd"]))
    standard, others = streams[:STREAMS], streams[STREAMS:]
    withheld: int | None = request["withheld"] if request["limits"] else None
    given: list[bytes] = request["inputs"]
    inputs: list[int] = []
    limiting = Limiting(
        request["limits"], mounts, None if withheld is None else given[withheld], lower=request["lower"]
    )
    try:
        for place, data in enumerate(given):
            inputs.append(_input(data) if place != withheld else _moved(limiting.input))
        inputs += [_moved(descriptor) for descriptor in others]
        started = os.posix_spawn(
            raw(request["program"]),
            [raw(word) for word in request["argv"]],
            {raw(name): raw(value) for name, value in request["environment"].items()},
            file_actions=[*_standard(request, standard), *_numbered(inputs), *limiting.handed_over()],
            setsid=True,
            setsigdef=IGNORED_BY_PYTHON,
        )
        lower_priority(started, request["lower"])
        while inputs:  # a copy kept here would be in the way of whoever waits for the end of one
            os.close(inputs.pop())
        _limit(limiting, started, mounts)
        return started
    finally:
        limiting.close()
        for descriptor in inputs:
            os.close(descriptor)
        os.chdir("/")


def _look(mounts: "Sequence[Mount]") -> None:
    """See that no link leads to what the mounts cover."""
    try:
        check_places(mounts)
    except ChangedMeanwhile as error:
        raise _changed() from error


def _changed() -> SpawnFailed:
    return SpawnFailed("mounts", OSError(errno.ESTALE, os.strerror(errno.ESTALE)))


def _limit(limiting: Limiting, fence: int, mounts: "Sequence[Mount]") -> None:
    try:
        limiting.set(fence)
    except Fallen:
        _look_after(fence, mounts)
    except EndedEarly:
        return  # killed or dead by itself: its end is told like any other
    except ChangedMeanwhile as error:
        os.waitpid(fence, 0)
        raise _changed() from error
    except OSError as error:
        os.waitpid(fence, 0)
        raise SpawnFailed("limits", error) from error


def _look_after(fence: int, mounts: "Sequence[Mount]") -> None:
    """Whether a fence fell because of what was exchanged meanwhile; otherwise it says itself why."""
    try:
        _look(mounts)
    except SpawnFailed:
        os.kill(fence, signal.SIGKILL)
        os.waitpid(fence, 0)
        raise


def _input(data: bytes) -> int:
    """A descriptor from which the program can read this."""
    made = os.memfd_create("input")
    try:
        os.write(made, data)
        os.lseek(made, 0, os.SEEK_SET)
        return _moved(made)
    finally:
        os.close(made)


def _moved(descriptor: int) -> int:
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, ABOVE_INPUTS)


def _numbered(inputs: Sequence[int]) -> "list[tuple[Any, ...]]":
    return [(os.POSIX_SPAWN_DUP2, descriptor, FIRST_INPUT + place) for place, descriptor in enumerate(inputs)]


def _standard(request: Mapping[str, Any], streams: Sequence[int]) -> "list[tuple[Any, ...]]":
    return _terminal(streams) if request["terminal"] and not request["takes_terminal"] else _pipes(streams)


def _enter(directory: bytes) -> None:
    try:
        os.chdir(directory)
    except OSError as error:
        raise SpawnFailed("cwd", error) from error


def _pipes(streams: Sequence[int]) -> "list[tuple[Any, ...]]":
    return [(os.POSIX_SPAWN_DUP2, stream, number) for number, stream in enumerate(streams)]


def _terminal(streams: Sequence[int]) -> "list[tuple[Any, ...]]":
    # The leader of a new session gets the first terminal it opens for its own; one handed down would not become that.
    opened = (os.POSIX_SPAWN_OPEN, 0, os.ttyname(streams[0]), os.O_RDWR, 0)
    return [opened, (os.POSIX_SPAWN_DUP2, 0, 1), (os.POSIX_SPAWN_DUP2, 0, 2)]


def raw(text: str) -> bytes:
    """The bytes that travelled as characters of the same number, since JSON has no bytes."""
    return text.encode("latin-1")
