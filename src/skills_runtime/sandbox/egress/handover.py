"""How a listener comes out of a sandbox: one socket pair, one message with a descriptor, one word to go."""

import asyncio
import os
import socket
import struct
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

from skills_runtime.errors import SandboxError
from skills_runtime.sandbox.inside import network as inside

PROXY_PORT = 3128
HANDOVER_SECONDS = 10.0

_SO_NETNS_COOKIE = 71
_HINT = "look at the error output of the command; `skills-runtime sandbox doctor` tells what works here"


class Handover:
    """The channel between a sandbox that is being started and its proxy.

    Let the sandbox inherit `descriptor`, start `argv(...)` in it, call `started()`, take the
    `listener()`, serve it, and let the command `go()`. Leaving the `with` block before that ends the sandbox's start.
    """

    def __init__(self, port: int = PROXY_PORT) -> None:
        self._port = port
        self._ours, self._theirs = socket.socketpair()
        self._ours.settimeout(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of both ends; a sandbox that still waits for the word to go ends."""
        self._ours.close()
        self._theirs.close()

    @property
    def descriptor(self) -> int:
        """What the sandbox must inherit."""
        return self._theirs.fileno()

    def argv(
        self, command: Sequence[str], interpreter: str = "/usr/bin/python3", *, descriptor: int | None = None
    ) -> tuple[str, ...]:
        """The command line to run inside, with an interpreter that is visible there; it becomes the command.

        `descriptor` is the number under which the sandbox inherits its end, if that is another one there.
        """
        number = self.descriptor if descriptor is None else descriptor
        return (interpreter, "-I", "-S", "-c", _source(), str(number), str(self._port), *command)

    def started(self) -> None:
        """Let go of the sandbox's end, so that its death is noticed."""
        self._theirs.close()

    async def listener(self, seconds: float = HANDOVER_SECONDS) -> socket.socket:
        """The listening socket from inside; raises when there comes none, or one that is not fit for it."""
        try:
            async with asyncio.timeout(seconds):
                await _readable(self._ours)
            word, descriptors, flags, _ = socket.recv_fds(self._ours, 1, 1, socket.MSG_CMSG_CLOEXEC)
        except TimeoutError as error:
            raise SandboxError(f"the sandbox made no network in {seconds:g} seconds", hint=_HINT) from error
        except OSError as error:
            raise SandboxError(f"the sandbox handed out no network: {error}", hint=_HINT) from error
        if word != inside.READY or len(descriptors) != 1 or flags & socket.MSG_CTRUNC:
            for descriptor in descriptors:
                os.close(descriptor)
            raise SandboxError("the sandbox ended before it had a network", hint=_HINT)
        return self._checked(socket.socket(fileno=descriptors[0]))

    def go(self) -> None:
        """Let the command begin; one that has died meanwhile needs no word."""
        try:
            self._ours.send(inside.GO)
        except (BrokenPipeError, ConnectionResetError):
            return

    def _checked(self, listener: socket.socket) -> socket.socket:
        problem = listener_problem(listener, self._port)
        if problem:
            listener.close()
            raise SandboxError(f"the socket handed out of the sandbox cannot be used: {problem}", hint=_HINT)
        return listener


def listener_problem(listener: socket.socket, port: int) -> str:
    """Why a socket is not a listener in a network of its own, or nothing."""
    if listener.family != socket.AF_INET or listener.type != socket.SOCK_STREAM:
        return "it is not one for TCP"
    if not listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        return "it does not listen"
    if listener.getsockname() != ("127.0.0.1", port):
        return "it listens at another place"
    with socket.socket() as here:
        if _network(listener) == _network(here) != 0:
            return "it is in the network of this machine, where every user could use it"
    return ""


def _network(one: socket.socket) -> int:
    """The number of the network that a socket belongs to; zero where the kernel cannot tell."""
    try:
        return struct.unpack("Q", one.getsockopt(socket.SOL_SOCKET, _SO_NETNS_COOKIE, 8))[0]
    except OSError:
        return 0


@cache
def _source() -> str:
    return Path(inside.__file__).read_text(encoding="utf-8")


async def _readable(channel: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(channel, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(channel)
