"""Turns a request into a running program: own session, own terminal if asked for, nothing inherited but its streams."""

import errno
import fcntl
import os
import signal
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .blueprint import Blueprint, Frame, NotUnderstood, read_blueprint
from .fence import Nursery
from .groups import SACRIFICED, memory_of
from .kernel import IGNORED_BY_PYTHON
from .limits import EndedEarly, Fallen, Limiting, limit
from .mounts import ChangedMeanwhile, Mount, Planned, check_misled, check_places
from .orders import STREAMS
from .urgency import Urgency

FIRST_INPUT = 3
ROOM = 16 << 20
"""Bytes of memory below which a command has none to spare for a copy of this process, which the program is not."""
LONG = 32 * os.sysconf("SC_PAGE_SIZE")
"""Bytes of arguments from which on the system may refuse them, which is told in time only of the program."""
ABOVE_INPUTS = 64
"""Where descriptors wait for their number, so that none is overwritten by another."""


class SpawnFailed(Exception):
    """The program did not start: which step failed, with which number of the system."""

    def __init__(self, step: str, error: OSError) -> None:
        super().__init__(step, error)
        self.step = step
        self.number = error.errno or 0


class Started(NamedTuple):
    """A program that runs, how many generations of processes are the fence before it, and how the first was born."""

    process: int
    layers: int
    frame: "Frame | None" = None


def spawn(request: Mapping[str, Any], streams: Sequence[int], urgency: Urgency, nursery: Nursery) -> Started:
    """Start the program and return its number once it really runs."""
    mounts = _planned(request)
    if request["blueprint"] is not None and len(streams) == STREAMS and _has_room(request):
        try:
            return _fenced(request, streams, mounts, urgency, nursery)
        except ChangedMeanwhile as error:
            raise _changed() from error
        except NotUnderstood:
            pass  # nothing has begun: the program can do it
        except OSError as error:  # or say why nobody can, unless it would follow a link
            _look(mounts, error)
    nursery.clear()
    try:
        return Started(_run(request, streams, mounts, urgency), layers=request["layers"])
    except OSError as error:
        raise SpawnFailed("exec", error) from error


def _has_room(request: Mapping[str, Any]) -> bool:
    watched: int | None = request["watch"]["memory_bytes"] if request["watch"] else None
    return all(limit is None or limit >= ROOM for limit in (memory_of(request["groups"]), watched))


def _fenced(
    request: Mapping[str, Any], streams: "Sequence[int]", mounts: "Sequence[Mount]", urgency: Urgency, nursery: Nursery
) -> Started:
    """Start a command behind a fence that is put up here."""
    blueprint, words = _blueprint(request), [raw(word) for word in request["argv"]]
    command = words[words.index(b"--") + 1 :]
    if sum(map(len, command)) >= LONG:
        raise OSError(errno.E2BIG, os.strerror(errno.E2BIG))
    newborn = nursery.take(blueprint.frame)
    try:
        urgency.begin(newborn.process)
        newborn.talk.order(blueprint, command, SACRIFICED if request["groups"] else b"", streams)
        planned = Planned(mounts)
        newborn.talk.hear_ready()
        limit(newborn.process, request["limits"]["values"])
        planned.check(newborn.process)
        newborn.talk.give_filter(request["inputs"][request["withheld"]])
    except BaseException:
        newborn.take_down()
        raise
    newborn.talk.close()
    return Started(newborn.process, layers=1, frame=blueprint.frame)


def _blueprint(request: Mapping[str, Any]) -> Blueprint:
    """The fence that is asked for; most commands want the same as the one before."""
    inputs: list[bytes] = request["inputs"]
    described = tuple(data for place, data in enumerate(inputs) if place != request["withheld"])
    if described not in _known:
        place: int = request["blueprint"]
        options = inputs[place].split(b"\0")[:-1]
        workspace = {raw(point) for point, _, _ in request["mounts"]}
        blueprint = read_blueprint(options, dict(enumerate(inputs, FIRST_INPUT)), workspace)
        _known.clear()
        _known[described] = blueprint
    return _known[described]


_known: "dict[tuple[bytes, ...], Blueprint]" = {}


def _run(request: Mapping[str, Any], streams: "Sequence[int]", mounts: "Sequence[Mount]", urgency: Urgency) -> int:
    _enter(raw(request["cwd"]))
    standard, others = streams[:STREAMS], streams[STREAMS:]
    withheld: int | None = request["withheld"] if request["limits"] else None
    given: list[bytes] = request["inputs"]
    inputs: list[int] = []
    limiting = Limiting(request["limits"], mounts, None if withheld is None else given[withheld], urgency.begin)
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
        urgency.begin(started)
        while inputs:  # a copy kept here would be in the way of whoever waits for the end of one
            os.close(inputs.pop())
        _limit(limiting, started, mounts)
        return started
    finally:
        limiting.close()
        for descriptor in inputs:
            os.close(descriptor)
        os.chdir("/")


def _planned(request: Mapping[str, Any]) -> "list[Mount]":
    """The mounts of the fence, once it is clear that no link leads to what they cover."""
    mounts = [(raw(point), raw(source), raw(place)) for point, source, place in request["mounts"]]
    _look(mounts)
    return mounts


def _look(mounts: "Sequence[Mount]", refused: "OSError | None" = None) -> None:
    try:
        if refused is not None:
            check_misled(mounts, refused)
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
