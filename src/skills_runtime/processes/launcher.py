"""The runtime's side of the launcher process: started on first use, shared, gone with the runtime.

Its code is passed to it and read only once: later the files may belong to another version of the package. Commands
inherit the user, the umask and the resource limits of the launcher.
"""

import asyncio
import atexit
import errno
import fcntl
import marshal
import os
import signal
import socket
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType

from skills_runtime.errors import ToolError
from skills_runtime.processes.command import no_capacity_error
from skills_runtime.sandbox import supervision

# Idle supervisors kept for the next commands: forking one costs more than a small command itself.
MAX_IDLE = 4

# Directory of the launcher's code; must be readable by the process that starts the first command.
CODE_DIRECTORY = Path(supervision.__file__).parents[1]
PACKAGE = "supervision"

Groups = tuple[str, ...]
"""The parent control groups of a command."""

RETRY_SECONDS = 0.002
_BUSY = (errno.EAGAIN, errno.ETOOMANYREFS)
_DEAD = (errno.EPIPE, errno.ECONNRESET)
_CODE_FD = 3
"""The descriptor from which the launcher reads its code."""
_MIN_CODE_FD = 10
_BOOT = f"""\
import sys, marshal
with open({_CODE_FD}, "rb") as file:
    code = marshal.load(file)
class CodeImporter:
    def find_spec(name, path=None, target=None):
        return type(sys.__spec__)(name, CodeImporter, is_package=name == "{PACKAGE}") if name in code else None
    def create_module(spec):
        return None
    def exec_module(module):
        exec(code[module.__name__], module.__dict__)
sys.meta_path.insert(0, CodeImporter)
from {PACKAGE}.launcher import main
main()
"""
INTERPRETERS = (sys.executable, "/usr/bin/python3")
"""The second is for a process that has given up the rights to run its own interpreter."""


class Launcher:
    """A small process that forks supervisors, and the sockets of the idle ones."""

    def __init__(self) -> None:
        self._owner = _identity()
        self._channel, theirs = socket.socketpair()
        with theirs:
            try:
                self._pid = _start(theirs.fileno())
            except BaseException:
                self._channel.close()
                raise
        self._channel.settimeout(0)
        self._idle: list[tuple[Groups, socket.socket]] = []
        self._closed = False

    @property
    def usable(self) -> bool:
        """Whether it is alive and belongs to this process with its current user and groups."""
        return not self._closed and self._owner == _identity() and _open(self._channel)

    def engage(self, streams: Sequence[int], groups: Groups) -> socket.socket:
        """Pass streams to a supervisor and return its socket; raises `OSError` if it is dead or busy."""
        control = self._idle_in(groups) or self._fork()
        try:
            socket.send_fds(control, [b"!"], streams)
        except OSError:
            control.close()
            raise
        return control

    def release(self, control: socket.socket, groups: Groups) -> None:
        """Take back a supervisor that has finished: keep it for the next command, or dismiss it."""
        if not self.usable:
            control.close()
            return
        self._idle.append((groups, control))
        if len(self._idle) > MAX_IDLE:
            self._idle.pop(0)[1].close()

    def close(self) -> None:
        """Close the connection; the launcher exits when all its commands have ended."""
        self._closed = True
        for connection in (self._channel, *(control for _, control in self._idle)):
            connection.close()
        if self._owner[0] == os.getpid():
            _retired.add(self._pid)

    def _idle_in(self, groups: Groups) -> socket.socket | None:
        """Return the last idle supervisor in these control groups; moving one costs more than a small command."""
        index = next((place for place in reversed(range(len(self._idle))) if self._idle[place][0] == groups), None)
        return None if index is None else self._idle.pop(index)[1]

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
    """Return whether the other end is open; it never sends anything."""
    try:
        return bool(channel.recv(1, socket.MSG_PEEK))
    except BlockingIOError:
        return True
    except ConnectionResetError:
        return False


def _identity() -> tuple[object, ...]:
    return (os.getpid(), os.getuid(), os.geteuid(), os.getgid(), os.getegid(), tuple(os.getgroups()))


def _start(channel: int) -> int:
    interpreter = next((path for path in INTERPRETERS if path and os.access(path, os.X_OK)), None)
    if interpreter is None:
        raise ToolError("unknown", "no Python interpreter can be started by this user", hint="see `sys.executable`")
    if not Path("/proc/self/stat").exists():
        raise ToolError("unknown", "without `/proc` no command can be ended reliably", hint="use Linux, and mount it")
    code_fd = _create_code_fd(
        marshal.dumps(dict(_code(CODE_DIRECTORY) if interpreter == sys.executable else _texts(CODE_DIRECTORY)))
    )
    devnull_actions = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    try:
        return os.posix_spawn(
            interpreter,
            [interpreter, "-I", "-S", "-c", _BOOT],
            {},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, channel, 0),
                (os.POSIX_SPAWN_DUP2, code_fd, _CODE_FD),
                *devnull_actions,
            ],
            setsigmask=(),
            setsigdef=signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP},
        )
    finally:
        os.close(code_fd)


@cache
def _code(home: Path) -> Mapping[str, CodeType]:
    """Compile the launcher's code for this interpreter, once."""
    try:
        modules = {name: SourceFileLoader(name, str(path)).get_code(name) for name, path in _modules(home)}
    except (OSError, ImportError, SyntaxError) as error:
        raise _unreadable(error) from error
    return {name: code for name, code in modules.items() if code is not None}


@cache
def _texts(home: Path) -> Mapping[str, str]:
    """Read the launcher's code as text, for any interpreter."""
    try:
        return {name: path.read_text(encoding="utf-8") for name, path in _modules(home)}
    except OSError as error:
        raise _unreadable(error) from error


def _modules(home: Path) -> Sequence[tuple[str, Path]]:
    paths = sorted(os.scandir(home / PACKAGE), key=lambda entry: entry.name)
    names = [entry.name.removesuffix(".py") for entry in paths if entry.name.endswith(".py")]
    return [(PACKAGE if name == "__init__" else f"{PACKAGE}.{name}", home / PACKAGE / f"{name}.py") for name in names]


def _unreadable(error: Exception) -> ToolError:
    return ToolError(
        "unknown",
        f"what starts commands cannot be read: {error}",
        hint="the package is damaged or just being replaced: install it again, then start this program anew",
    )


def _create_code_fd(data: bytes) -> int:
    """Return a descriptor to read the data from, with a number above those of the streams."""
    memfd = os.memfd_create("launcher", os.MFD_CLOEXEC)
    try:
        with open(memfd, "wb", closefd=False) as file:
            file.write(data)
        os.lseek(memfd, 0, os.SEEK_SET)
        return fcntl.fcntl(memfd, fcntl.F_DUPFD_CLOEXEC, _MIN_CODE_FD)
    finally:
        os.close(memfd)


_lock = threading.Lock()
_shared: list[Launcher] = []
_retired: set[int] = set()


async def engage(streams: Sequence[int], groups: Groups) -> tuple[Launcher, socket.socket]:
    """Pass the streams of a command to a supervisor; return its launcher and its socket."""
    dead = 0
    while True:
        with _lock:
            launcher = _available()
            try:
                return launcher, launcher.engage(streams, groups)
            except OSError as error:
                failure = error
        dead += failure.errno in _DEAD
        # The launcher and all the idle supervisors may have been killed since, but not over and over again.
        if failure.errno not in (*_BUSY, *_DEAD) or dead > MAX_IDLE + 1:
            raise no_capacity_error(failure) from failure
        if failure.errno in _BUSY:
            await asyncio.sleep(RETRY_SECONDS)


def start_launcher() -> None:
    """Start the launcher now, so that later changes to the package's files do not matter."""
    with _lock:
        _available()


def _available() -> Launcher:
    """Return the launcher, started if needed; fail at once if that is impossible."""
    try:
        if not _shared or not _shared[0].usable:
            _drop()
            _shared.append(Launcher())
        for pid in tuple(_retired):
            # Reap a dead launcher.
            try:
                if os.waitpid(pid, os.WNOHANG)[0]:
                    _retired.discard(pid)
            except ChildProcessError:  # not our child: this process was forked, or other code waits for every child
                _retired.discard(pid)
        return _shared[0]
    except OSError as error:
        raise no_capacity_error(error) from error


@atexit.register
def dismiss() -> None:
    """Close the launcher; its commands continue, and the next command starts another launcher."""
    with _lock:
        _drop()


def _drop() -> None:
    while _shared:
        _shared.pop().close()
