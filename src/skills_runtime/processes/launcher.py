"""The runtime's side of the launcher: started when first needed, shared by all, gone when the runtime is.

Commands inherit from the launcher what they inherit at all: the user, the file mode mask, the resource limits.
"""

import asyncio
import atexit
import errno
import os
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from skills_runtime.errors import ToolError
from skills_runtime.processes.failures import unavailable

MAX_IDLE = 4
"""Supervisors kept for the next commands: to fork one costs more than all the rest of a small command."""

HOME = Path(__file__).parent
"""Where the launcher finds its own code; it must be readable by whoever commands run as."""

RETRY_SECONDS = 0.002
_BUSY = (errno.EAGAIN, errno.ETOOMANYREFS)
_DEAD = (errno.EPIPE, errno.ECONNRESET)
_BOOT = "import sys; sys.path.append(sys.argv[1]); from supervision.launcher import main; main()"
_INTERPRETERS = (sys.executable, "/usr/bin/python3")
"""The second serves a process that gave up the rights to run its own interpreter."""


class Launcher:
    """A small process that forks supervisors, and the sockets of those that have nothing to do."""

    def __init__(self) -> None:
        self._owner = _identity()
        self._channel, theirs = socket.socketpair()
        with theirs:
            self._pid = _start(theirs.fileno())
        self._channel.settimeout(0)
        self._idle: list[socket.socket] = []
        self._over = False

    @property
    def usable(self) -> bool:
        """Whether it lives, and belongs to this very process with its present rights, not to what that was once."""
        return not self._over and self._owner == _identity() and _open(self._channel)

    def engage(self, streams: Sequence[int]) -> socket.socket:
        """Give streams to a supervisor and return its socket; raises `OSError` when it is dead or busy."""
        control = self._idle.pop() if self._idle else self._fork()
        try:
            socket.send_fds(control, [b"!"], streams)
        except OSError:
            control.close()
            raise
        return control

    def release(self, control: socket.socket) -> None:
        """Take back a supervisor that has finished its command: it serves the next one, or is dismissed."""
        if self.usable and len(self._idle) < MAX_IDLE:
            self._idle.append(control)
        else:
            control.close()

    def close(self) -> None:
        """Let it go; it ends by itself when what it supervises has ended."""
        self._over = True
        for connection in (self._channel, *self._idle):
            connection.close()
        if self._owner[0] == os.getpid():
            _retired.add(self._pid)

    def _fork(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self._channel, [b"!"], [theirs.fileno()])
            except OSError:
                ours.close()
                raise
        ours.settimeout(0)
        return ours


def _open(channel: socket.socket) -> bool:
    """Whether somebody is at the other end, who never says anything."""
    try:
        return bool(channel.recv(1, socket.MSG_PEEK))
    except BlockingIOError:
        return True
    except ConnectionResetError:
        return False


def _identity() -> tuple[object, ...]:
    return (os.getpid(), os.getuid(), os.geteuid(), os.getgid(), os.getegid(), tuple(os.getgroups()))


def _start(channel: int) -> int:
    interpreter = next((path for path in _INTERPRETERS if path and os.access(path, os.X_OK)), None)
    if interpreter is None:
        raise ToolError("unknown", "no Python interpreter can be started by this user", hint="see `sys.executable`")
    if not Path("/proc/self/stat").exists():
        raise ToolError("unknown", "without `/proc` no command can be ended reliably", hint="use Linux, and mount it")
    silence = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    return os.posix_spawn(
        interpreter,
        [interpreter, "-I", "-S", "-c", _BOOT, str(HOME)],
        {},
        file_actions=[(os.POSIX_SPAWN_DUP2, channel, 0), *silence],
        setsigmask=(),
        setsigdef=signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP},
    )


_lock = threading.Lock()
_shared: list[Launcher] = []
_retired: set[int] = set()


async def engage(streams: Sequence[int]) -> tuple[Launcher, socket.socket]:
    """Give the standard streams of a command to a supervisor; returns whose it is, and the socket to talk with it."""
    dead = 0
    while True:
        try:
            with _lock:
                launcher = _current()
                return launcher, launcher.engage(streams)
        except OSError as error:
            dead += error.errno in _DEAD
            # The launcher and all the idle supervisors may have been killed since, but not over and over again.
            if error.errno not in (*_BUSY, *_DEAD) or dead > MAX_IDLE + 1:
                raise unavailable(error) from error
            if error.errno in _BUSY:
                await asyncio.sleep(RETRY_SECONDS)


def _current() -> Launcher:
    if not _shared or not _shared[0].usable:
        _drop()
        _shared.append(Launcher())
    for pid in tuple(_retired):
        _bury(pid)
    return _shared[0]


@atexit.register
def dismiss() -> None:
    """Let the launcher go; what it supervises goes on, and the next command starts another one."""
    with _lock:
        _drop()


def _drop() -> None:
    while _shared:
        _shared.pop().close()


def _bury(pid: int) -> None:
    """Take a dead launcher off the process table."""
    try:
        if os.waitpid(pid, os.WNOHANG)[0]:
            _retired.discard(pid)
    except ChildProcessError:  # not ours any more: this process was forked, or somebody waits for every child
        _retired.discard(pid)
