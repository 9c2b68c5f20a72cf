"""Turns a request into a running program: own session, own terminal if asked for, nothing inherited but its streams.

Limits of the kernel are set from outside, before the command begins. The sandbox tells the number of its first process
on one descriptor, and waits for a word on another when everything is mounted. Then it reads its filter of system calls,
which it is given when its mounts are as planned: a sandbox whose supervisor has died begins nothing. A program that
sets limits and becomes the command would cost an extra start.
"""

import errno
import fcntl
import json
import os
import resource
import select
import signal
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from .mounts import ChangedMeanwhile, Mount, Planned, check_places

IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
"""What a program that is started must hear again."""
STREAMS = 3
FIRST_INPUT = 3
ABOVE_INPUTS = 64
"""Where descriptors wait for their number, so that none is overwritten by another."""
SETUP_SECONDS = 20.0
"""Seconds that a fence has to get as far as telling."""
LARGEST = (1 << 63) - 1
_NO_PROCESS = (errno.ENOENT, errno.ESRCH, errno.EPIPE)
"""How the system says that a process is no more."""


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
    directory = raw(request["cwd"])
    try:
        os.chdir(directory)
    except OSError as error:
        raise SpawnFailed("cwd", error) from error
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
            file_actions=[
                *(
                    _terminal(standard)
                    if request["terminal"] and not request["takes_terminal"]
                    else [(os.POSIX_SPAWN_DUP2, stream, number) for number, stream in enumerate(standard)]
                ),
                *limiting.handed_over(),  # first: many inputs take the numbers that these have here
                *[(os.POSIX_SPAWN_DUP2, descriptor, FIRST_INPUT + place) for place, descriptor in enumerate(inputs)],
            ],
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


def _limit(limiting: "Limiting", fence: int, mounts: "Sequence[Mount]") -> None:
    try:
        limiting.set(fence)
    except Fallen:
        # Whether a fence fell because of what was exchanged meanwhile; otherwise it says itself why.
        try:
            _look(mounts)
        except SpawnFailed:
            os.kill(fence, signal.SIGKILL)
            os.waitpid(fence, 0)
            raise
    except EndedEarly:
        return  # killed or dead by itself: its end is told like any other
    except ChangedMeanwhile as error:
        os.waitpid(fence, 0)
        raise _changed() from error
    except OSError as error:
        os.waitpid(fence, 0)
        raise SpawnFailed("limits", error) from error


def _look(mounts: "Sequence[Mount]") -> None:
    """See that no link leads to what the mounts cover."""
    try:
        check_places(mounts)
    except ChangedMeanwhile as error:
        raise _changed() from error


def _changed() -> SpawnFailed:
    return SpawnFailed("mounts", OSError(errno.ESTALE, os.strerror(errno.ESTALE)))


class Limiting:
    """The limits of one command, and the channels to its fence."""

    def __init__(
        self,
        asked: "Mapping[str, Any] | None",
        mounts: "Sequence[Mount]" = (),
        withheld: "bytes | None" = None,
        *,
        lower: int = 0,
    ) -> None:
        self._asked = asked
        self._lower = lower
        self._mounts = mounts
        self._withheld = withheld
        self._first: int | None = None
        self._ours: list[int] = []
        self._theirs: list[int] = []
        self.input = -1
        """Where the fence reads what it is given last."""
        if asked is None:
            return
        self._told, tells = os.pipe2(os.O_CLOEXEC)
        # A pipe that never ends for its reader, who holds a writing end as well: a dead writer is no word to begin.
        reads, self._go = os.pipe2(os.O_CLOEXEC)
        try:
            waits = os.open(f"/proc/self/fd/{reads}", os.O_RDWR | os.O_CLOEXEC)
        finally:
            os.close(reads)
        self._ours, self._theirs = [self._told, self._go], [tells, waits]
        if withheld is not None:
            self.input, self._last = os.pipe2(os.O_CLOEXEC)
            self._ours.append(self._last)
            self._theirs.append(self.input)

    def handed_over(self) -> "list[tuple[Any, ...]]":
        """What the fence is given, under the numbers it was told."""
        if self._asked is None:
            return []
        numbers = (self._asked["tells"], self._asked["waits"])
        return [(os.POSIX_SPAWN_DUP2, *pair) for pair in zip(self._theirs, numbers, strict=False)]

    def set(self, fence: int) -> None:
        """Set the limits and let the command begin; a fence that is not as it has to be is killed before it does."""
        self._close(self._theirs)
        if self._asked is None:
            return
        try:
            self._first = self._first_process()
            lower_priority(self._first, self._lower)
            with _falling(_NO_PROCESS if self._withheld is not None else ()):
                limit(self._first, self._asked["values"])
                os.write(self._go, b"x")
            if self._withheld is not None:
                self._give(self._first, self._withheld)
        except Fallen:
            raise
        except BaseException:
            self._kill(fence)
            raise

    def _give(self, first: int, data: bytes) -> None:
        """Hand over what was withheld, when everything is mounted and nothing elsewhere than planned."""
        planned = Planned(self._mounts)
        poll = select.poll()
        poll.register(self._go, 0)  # the fence hangs up as soon as it has heard the word
        if not poll.poll(SETUP_SECONDS * 1000):
            raise OSError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
        with _falling((*_NO_PROCESS, errno.EINVAL)):  # the last for the mounts of one that has just ended
            planned.check(first)
            while data:
                data = data[os.write(self._last, data) :]
        self._ours.remove(self._last)
        os.close(self._last)

    def _kill(self, fence: int) -> None:
        for process in (self._first, fence):
            if process is not None:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(process, signal.SIGKILL)

    def close(self) -> None:
        """Let go of the channels."""
        self._close(self._theirs)
        self._close(self._ours)

    def _first_process(self) -> int:
        deadline, text = time.monotonic() + SETUP_SECONDS, b""
        while True:
            with suppress(ValueError):  # not all of it has come
                return json.loads(text)["child-pid"]
            if not select.select([self._told], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise OSError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
            if not (piece := os.read(self._told, 4096)):
                raise EndedEarly
            text += piece

    @staticmethod
    def _close(descriptors: "list[int]") -> None:
        while descriptors:
            os.close(descriptors.pop())


class EndedEarly(Exception):
    """The fence ended before it had a process; it has said itself why."""


class Fallen(EndedEarly):
    """The fence ended while it was put up, and is left to say so: without what was withheld it begins nothing."""


@contextmanager
def _falling(numbers: "Sequence[int]") -> "Generator[None]":
    """Take these errors of the system for the end of a fence."""
    try:
        yield
    except OSError as error:
        if error.errno not in numbers:
            raise
        raise Fallen from error


def limit(process: int, values: "list[tuple[str, int]]") -> None:
    """Set the limits of a process that has begun nothing yet."""
    try:
        _set(process, values)
    except PermissionError:
        if os.geteuid() != 0:
            raise
        _as_its_owner(process, values)  # an administrator in a container may not limit the processes of others


def lower_priority(process: int, by: int) -> None:
    """Make a process, and what is in its group, less urgent than this one, as `nice` counts."""
    if by > 0:
        priority = os.getpriority(os.PRIO_PROCESS, 0) + by
        for kind in (os.PRIO_PGRP, os.PRIO_PROCESS):
            with suppress(OSError):  # it leads no group, or has ended
                os.setpriority(kind, process, priority)


def _set(process: int, values: "list[tuple[str, int]]") -> None:
    for name, wanted in values:
        kind = getattr(resource, f"RLIMIT_{name.upper()}")
        most = resource.prlimit(process, kind)[1]
        value = wanted if most == resource.RLIM_INFINITY else min(wanted, most)  # only an administrator could raise it
        if not 0 <= value <= LARGEST:
            raise OSError(errno.ERANGE, os.strerror(errno.ERANGE))
        resource.prlimit(process, kind, (value, value))


def _as_its_owner(process: int, values: "list[tuple[str, int]]") -> None:
    with open(f"/proc/{process}/status", encoding="ascii", errors="replace") as file:
        ids = {line.split(":")[0]: int(line.split()[1]) for line in file if line.startswith(("Uid:", "Gid:"))}
    child = os.fork()
    if child == 0:
        try:
            os.setresgid(ids["Gid"], ids["Gid"], ids["Gid"])
            os.setresuid(ids["Uid"], ids["Uid"], ids["Uid"])
            _set(process, values)
            os._exit(0)
        except OSError as error:
            os._exit(error.errno or errno.EPERM)
        finally:
            os._exit(errno.EPERM)
    if refused := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise OSError(refused, os.strerror(abs(refused)))


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


def _terminal(streams: Sequence[int]) -> "list[tuple[Any, ...]]":
    # The leader of a new session gets the first terminal it opens for its own; one handed down would not become that.
    opened = (os.POSIX_SPAWN_OPEN, 0, os.ttyname(streams[0]), os.O_RDWR, 0)
    return [opened, (os.POSIX_SPAWN_DUP2, 0, 1), (os.POSIX_SPAWN_DUP2, 0, 2)]


def raw(text: str) -> bytes:
    """The bytes that travelled as characters of the same number, since JSON has no bytes."""
    return text.encode("latin-1")
