"""Start a program: own session, own terminal if requested, nothing inherited but its streams.

Kernel limits are set from outside before the command starts. The sandbox writes its first process's ID to one
descriptor, and waits on another after everything is mounted. Then it reads its seccomp filter, which it gets only
if the mounts are as planned: a sandbox whose supervisor has died starts nothing. A helper that sets limits and
executes the command would cost an extra start.
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

from .mounts import Mount, MountsChanged, PlannedMounts, check_mount_points

# Python ignores these; a started program gets the defaults back.
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
STREAMS = 3
FIRST_INPUT = 3
# Temporary descriptor numbers, so that no dup2 overwrites another descriptor.
MIN_TEMPORARY_FD = 64
SETUP_SECONDS = 20.0
"""Seconds a sandbox gets to report its first process."""
MAX_LIMIT = (1 << 63) - 1
_NO_PROCESS = (errno.ENOENT, errno.ESRCH, errno.EPIPE)
"""Errors that mean the process no longer exists."""


class SpawnFailed(Exception):
    """The program did not start: the failed step, and its errno."""

    def __init__(self, step: str, error: OSError) -> None:
        super().__init__(step, error)
        self.step = step
        self.number = error.errno or 0


def spawn(request: Mapping[str, Any], streams: Sequence[int]) -> int:
    """Start the program and return its process ID once it really runs."""
    mounts = [
        (decode_bytes(point), decode_bytes(source), decode_bytes(covered))
        for point, source, covered in request["mounts"]
    ]
    _check_mount_points(mounts)
    try:
        return _run(request, streams, mounts)
    except OSError as error:
        raise SpawnFailed("exec", error) from error


def _run(request: Mapping[str, Any], streams: "Sequence[int]", mounts: "Sequence[Mount]") -> int:
    directory = decode_bytes(request["cwd"])
    try:
        os.chdir(directory)
    except OSError as error:
        raise SpawnFailed("cwd", error) from error
    standard, extra = streams[:STREAMS], streams[STREAMS:]
    withheld: int | None = request["withheld"] if request["limits"] else None
    contents: list[bytes] = request["inputs"]
    inputs: list[int] = []
    start = SandboxStart(
        request["limits"], mounts, None if withheld is None else contents[withheld], lower=request["lower"]
    )
    try:
        for index, data in enumerate(contents):
            inputs.append(_create_input(data) if index != withheld else _duplicate_above_inputs(start.input))
        inputs += [_duplicate_above_inputs(descriptor) for descriptor in extra]
        pid = os.posix_spawn(
            decode_bytes(request["program"]),
            [decode_bytes(argument) for argument in request["argv"]],
            {decode_bytes(name): decode_bytes(value) for name, value in request["environment"].items()},
            file_actions=[
                *(
                    _terminal_actions(standard)
                    if request["terminal"] and not request["takes_terminal"]
                    else [(os.POSIX_SPAWN_DUP2, stream, number) for number, stream in enumerate(standard)]
                ),
                # First: many inputs take the numbers that these descriptors have in this process.
                *start.file_actions(),
                *[(os.POSIX_SPAWN_DUP2, descriptor, FIRST_INPUT + index) for index, descriptor in enumerate(inputs)],
            ],
            setsid=True,
            setsigdef=IGNORED_BY_PYTHON,
        )
        lower_priority(pid, request["lower"])
        while inputs:  # a copy kept open here would hide the end of file from readers
            os.close(inputs.pop())
        _apply_limits(start, pid, mounts)
        return pid
    finally:
        start.close()
        for descriptor in inputs:
            os.close(descriptor)
        os.chdir("/")


def _apply_limits(start: "SandboxStart", sandbox: int, mounts: "Sequence[Mount]") -> None:
    try:
        start.apply(sandbox)
    except SetupAborted:
        # Whether the sandbox failed because a mount point changed meanwhile; otherwise its own output has the reason.
        try:
            _check_mount_points(mounts)
        except SpawnFailed:
            os.kill(sandbox, signal.SIGKILL)
            os.waitpid(sandbox, 0)
            raise
    except SandboxExited:
        return  # killed or exited by itself: its end is reported like any other
    except MountsChanged as error:
        os.waitpid(sandbox, 0)
        raise _mounts_changed() from error
    except OSError as error:
        os.waitpid(sandbox, 0)
        raise SpawnFailed("limits", error) from error


def _check_mount_points(mounts: "Sequence[Mount]") -> None:
    try:
        check_mount_points(mounts)
    except MountsChanged as error:
        raise _mounts_changed() from error


def _mounts_changed() -> SpawnFailed:
    return SpawnFailed("mounts", OSError(errno.ESTALE, os.strerror(errno.ESTALE)))


class SandboxStart:
    """The limits of one command, and the channels to its sandbox."""

    def __init__(
        self,
        limits: "Mapping[str, Any] | None",
        mounts: "Sequence[Mount]" = (),
        withheld: "bytes | None" = None,
        *,
        lower: int = 0,
    ) -> None:
        self._limits = limits
        self._lower = lower
        self._mounts = mounts
        self._withheld = withheld
        self._first: int | None = None
        self._ours: list[int] = []
        self._theirs: list[int] = []
        self.input = -1
        """The descriptor from which the sandbox reads its last input."""
        if limits is None:
            return
        self._info, tells = os.pipe2(os.O_CLOEXEC)
        # A pipe whose reader never sees its end, because it holds a write end itself: a dead supervisor must not
        # count as permission to start.
        reads, self._go = os.pipe2(os.O_CLOEXEC)
        try:
            waits = os.open(f"/proc/self/fd/{reads}", os.O_RDWR | os.O_CLOEXEC)
        finally:
            os.close(reads)
        self._ours, self._theirs = [self._info, self._go], [tells, waits]
        if withheld is not None:
            self.input, self._last = os.pipe2(os.O_CLOEXEC)
            self._ours.append(self._last)
            self._theirs.append(self.input)

    def file_actions(self) -> "list[tuple[Any, ...]]":
        """Return the file descriptors that the sandbox inherits, under the numbers it was given."""
        if self._limits is None:
            return []
        numbers = (self._limits["tells"], self._limits["waits"])
        return [(os.POSIX_SPAWN_DUP2, *pair) for pair in zip(self._theirs, numbers, strict=False)]

    def apply(self, sandbox: int) -> None:
        """Set the limits and let the command start; kill a sandbox that is not as planned before that."""
        self._close(self._theirs)
        if self._limits is None:
            return
        try:
            self._first = self._first_process()
            lower_priority(self._first, self._lower)
            with _abort_on(_NO_PROCESS if self._withheld is not None else ()):
                set_limits(self._first, self._limits["values"])
                os.write(self._go, b"x")
            if self._withheld is not None:
                self._send_withheld(self._first, self._withheld)
        except SetupAborted:
            raise
        except BaseException:
            self._kill(sandbox)
            raise

    def _send_withheld(self, first: int, data: bytes) -> None:
        """Send the withheld input once everything is mounted as planned."""
        planned = PlannedMounts(self._mounts)
        poll = select.poll()
        # Hangs up once the sandbox has read the permission to start.
        poll.register(self._go, 0)
        if not poll.poll(SETUP_SECONDS * 1000):
            raise OSError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
        # EINVAL: the process has just ended, and so have its mounts.
        with _abort_on((*_NO_PROCESS, errno.EINVAL)):
            planned.check(first)
            while data:
                data = data[os.write(self._last, data) :]
        self._ours.remove(self._last)
        os.close(self._last)

    def _kill(self, sandbox: int) -> None:
        for process in (self._first, sandbox):
            if process is not None:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(process, signal.SIGKILL)

    def close(self) -> None:
        """Close the channels."""
        self._close(self._theirs)
        self._close(self._ours)

    def _first_process(self) -> int:
        deadline, text = time.monotonic() + SETUP_SECONDS, b""
        while True:
            with suppress(ValueError):  # the JSON is incomplete
                return json.loads(text)["child-pid"]
            if not select.select([self._info], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise OSError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
            if not (piece := os.read(self._info, 4096)):
                raise SandboxExited
            text += piece

    @staticmethod
    def _close(descriptors: "list[int]") -> None:
        while descriptors:
            os.close(descriptors.pop())


class SandboxExited(Exception):
    """The sandbox exited before it had a process; its own output has the reason."""


class SetupAborted(SandboxExited):
    """The sandbox exited during setup; without the withheld input it starts nothing, and its output has the reason."""


@contextmanager
def _abort_on(numbers: "Sequence[int]") -> "Generator[None]":
    """Treat these errors as the sandbox's exit."""
    try:
        yield
    except OSError as error:
        if error.errno not in numbers:
            raise
        raise SetupAborted from error


def set_limits(process: int, values: "list[tuple[str, int]]") -> None:
    """Set the limits of a process that has not started the command yet."""
    try:
        _set_limits(process, values)
    except PermissionError:
        if os.geteuid() != 0:
            raise
        # Root in a container may not limit other users' processes.
        _set_limits_as_owner(process, values)


def lower_priority(process: int, by: int) -> None:
    """Lower the priority of a process and its group relative to this one, in `nice` steps."""
    if by > 0:
        priority = os.getpriority(os.PRIO_PROCESS, 0) + by
        for kind in (os.PRIO_PGRP, os.PRIO_PROCESS):
            with suppress(OSError):  # not a group leader, or it has ended
                os.setpriority(kind, process, priority)


def _set_limits(process: int, values: "list[tuple[str, int]]") -> None:
    for name, requested in values:
        kind = getattr(resource, f"RLIMIT_{name.upper()}")
        most = resource.prlimit(process, kind)[1]
        value = requested if most == resource.RLIM_INFINITY else min(requested, most)  # only root could raise it
        if not 0 <= value <= MAX_LIMIT:
            raise OSError(errno.ERANGE, os.strerror(errno.ERANGE))
        resource.prlimit(process, kind, (value, value))


def _set_limits_as_owner(process: int, values: "list[tuple[str, int]]") -> None:
    with open(f"/proc/{process}/status", encoding="ascii", errors="replace") as file:
        ids = {line.split(":")[0]: int(line.split()[1]) for line in file if line.startswith(("Uid:", "Gid:"))}
    child = os.fork()
    if child == 0:
        try:
            os.setresgid(ids["Gid"], ids["Gid"], ids["Gid"])
            os.setresuid(ids["Uid"], ids["Uid"], ids["Uid"])
            _set_limits(process, values)
            os._exit(0)
        except OSError as error:
            os._exit(error.errno or errno.EPERM)
        finally:
            os._exit(errno.EPERM)
    if refused := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise OSError(refused, os.strerror(abs(refused)))


def _create_input(data: bytes) -> int:
    """Return a descriptor from which the program can read this data."""
    descriptor = os.memfd_create("input")
    try:
        os.write(descriptor, data)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return _duplicate_above_inputs(descriptor)
    finally:
        os.close(descriptor)


def _duplicate_above_inputs(descriptor: int) -> int:
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, MIN_TEMPORARY_FD)


def _terminal_actions(streams: Sequence[int]) -> "list[tuple[Any, ...]]":
    # A session leader gets the first terminal it opens as its controlling terminal; an inherited one would not become
    # that.
    open_terminal = (os.POSIX_SPAWN_OPEN, 0, os.ttyname(streams[0]), os.O_RDWR, 0)
    return [open_terminal, (os.POSIX_SPAWN_DUP2, 0, 1), (os.POSIX_SPAWN_DUP2, 0, 2)]


def decode_bytes(text: str) -> bytes:
    """Decode bytes encoded as Latin-1 characters, since JSON has no bytes."""
    return text.encode("latin-1")
