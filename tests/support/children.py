"""Fork prepared child processes within milliseconds.

Starting an interpreter takes a quarter of a second; a test that kills 200 writers needs a fork server, because the
test process itself has threads and must not fork.
"""

import importlib
import os
import pickle
import signal
import socket
import struct
import subprocess
import sys
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import IO, Any, NoReturn, cast

from tests.support import ROOT

_LENGTH = struct.Struct("!I")
Target = Callable[..., None]
"""Called in the child as `target(say, hear, *arguments)`: `say` is a stream to the test, `hear` one from it."""


class Child:
    """A forked process, its output and its exit."""

    def __init__(self, pid: int, zygote: "Zygote", hear: IO[bytes], say: IO[bytes]) -> None:
        self.pid = pid
        self._zygote = zygote
        self.hear = hear
        self._say = say
        self._joined = False

    def line(self) -> bytes:
        """Return the next line of the child without its end; empty when the child is gone."""
        return self.hear.readline().removesuffix(b"\n")

    def tell(self, text: bytes) -> None:
        """Send the child a line."""
        self._say.write(text + b"\n")

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill the child if it has not ended, and wait until the kernel has released its resources."""
        if not self._joined:
            self.send(signal.SIGKILL)
            self.join()

    def join(self) -> int:
        """Wait for the end; return the exit code, or the negative signal number."""
        self._say.close()
        self._joined = True
        return self._zygote.wait(self.pid)


class Zygote:
    """The process that forks; made by `zygote`."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link

    @contextmanager
    def child(self, target: Target, *arguments: Any) -> Generator[Child]:
        """Start a child that calls `target`; it is killed when the block ends."""
        count, say = os.pipe()
        hear, told = os.pipe()
        name = (target.__module__, target.__qualname__)
        try:
            pid = self._ask(("fork", name, arguments), (hear, say))
        finally:
            os.close(hear)
            os.close(say)
        with open(count, "rb") as listened, open(told, "wb", buffering=0) as spoken:
            child = Child(pid, self, listened, spoken)
            try:
                yield child
            finally:
                child.kill()

    def call(self, target: Target, *arguments: Any) -> None:
        """Call `target` in a child and wait; fail with the child's output unless it succeeds."""
        with self.child(target, *arguments) as child:
            text = child.hear.read().decode(errors="replace")
            code = child.join()
        assert code == 0, f"the child ended with {code}:\n{text}"

    def wait(self, pid: int) -> int:
        """Wait for a child."""
        return self._ask(("wait", pid))

    def _ask(self, request: tuple[Any, ...], fds: tuple[int, ...] = ()) -> int:
        socket.send_fds(self._link, [_packed(request)], fds)
        return _received(self._link, 0)[0]


@contextmanager
def zygote(*modules: str, within: tuple[str, ...] = ()) -> Generator[Zygote]:
    """Start a process, below another command if `within` is given, that imports these modules and forks on request."""
    ours, theirs = socket.socketpair()
    with ours:
        code = f"from tests.support.children import serve; serve({theirs.fileno()})"
        command = [*within, sys.executable, "-c", code, *modules]
        with theirs:
            process = subprocess.Popen(command, cwd=ROOT, pass_fds=[theirs.fileno()])
        try:
            yield Zygote(ours)
        finally:
            ours.close()
            process.wait()


def serve(fd: int) -> None:
    """Fork children until the other end is closed."""
    for module in sys.argv[1:]:
        importlib.import_module(module)
    link = socket.socket(fileno=fd)
    while True:
        try:
            request, fds = _received(link, 2)
        except EOFError:
            return
        link.sendall(_packed(_answer(link, request, fds)))


def _answer(link: socket.socket, request: tuple[Any, ...], fds: list[int]) -> int:
    match request:
        case ("fork", name, arguments):
            pid = os.fork()
            if pid == 0:
                link.close()
                _run(name, arguments, fds)
            for fd in fds:
                os.close(fd)
            return pid
        case ("wait", pid):
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        case _:
            raise AssertionError(request)


def _run(name: tuple[str, str], arguments: tuple[Any, ...], fds: list[int]) -> NoReturn:
    try:
        target = cast("Target", getattr(importlib.import_module(name[0]), name[1]))
        with open(fds[0], "rb", closefd=False) as hear, open(fds[1], "wb", buffering=0, closefd=False) as say:
            target(say, hear, *arguments)
    except BaseException:  # noqa: BLE001 - a child says what happened to it and never returns
        with suppress(BrokenPipeError):
            os.write(fds[1], traceback.format_exc().encode())
        os._exit(1)
    os._exit(0)


def _packed(value: Any) -> bytes:
    data = pickle.dumps(value)
    return _LENGTH.pack(len(data)) + data


def _received(link: socket.socket, max_fds: int) -> tuple[Any, list[int]]:
    data, fds, _, _ = socket.recv_fds(link, _LENGTH.size, max_fds)
    data += _exactly(link, _LENGTH.size - len(data))
    return pickle.loads(_exactly(link, _LENGTH.unpack(data)[0])), fds


def _exactly(link: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = link.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data
