"""One end of a connection: a non-blocking socket with a read buffer."""

import asyncio
import socket
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Self, TypeVar

from skills_runtime.sandbox.egress.rules import Incomplete, Parsed, Refused, Stopped

T = TypeVar("T")

MAX_READ_BYTES = 65536
LINGER_SECONDS = 1.0
LINGER_BYTES = 1 << 20


class Peer:
    """A socket with parsed reads and complete writes; closed at the end of the `with` block."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(0)
        self._socket = connection
        self._buffer = b""
        # The other end has started to receive a response; an error message now would corrupt it.
        self.response_started = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    async def peek(self, seconds: float) -> bytes:
        """Return buffered bytes, at least one unless the other end has closed."""
        if not self._buffer:
            async with asyncio.timeout(seconds):
                self._buffer = await self._receive(MAX_READ_BYTES)
        return self._buffer

    async def parse_next(
        self, parse: Callable[[bytes], Parsed[T] | Incomplete | Refused], seconds: float | None = None
    ) -> T | None:
        """Parse the next message; return None when the other end closed before its first byte."""
        async with asyncio.timeout(seconds):
            while True:
                parsed = parse(self._buffer) if self._buffer else Incomplete()
                if isinstance(parsed, Parsed):
                    self._buffer = self._buffer[parsed.consumed :]
                    return parsed.value
                if isinstance(parsed, Refused):
                    raise Stopped(parsed)
                piece = await self._receive(MAX_READ_BYTES)
                if not piece and not self._buffer:
                    return None
                if not piece:
                    raise Stopped(Refused("closed", "the connection was closed in the middle of a message"))
                self._buffer += piece

    async def read(self, most: int = MAX_READ_BYTES) -> bytes:
        """Return the next bytes; empty at the end."""
        if self._buffer:
            piece, self._buffer = self._buffer[:most], self._buffer[most:]
            return piece
        return await self._receive(min(most, MAX_READ_BYTES))

    async def send(self, data: bytes) -> None:
        """Send all of it."""
        await asyncio.get_running_loop().sock_sendall(self._socket, data)

    def end_writing(self) -> None:
        """Shut down writing; the other end may still send."""
        self._socket.shutdown(socket.SHUT_WR)

    async def send_and_close(self, data: bytes = b"") -> None:
        """Send last bytes if they fit, and wait for delivery: closing with unread input would discard them."""
        try:
            async with asyncio.timeout(LINGER_SECONDS):
                if not self.response_started:
                    await self.send(data)
                self.end_writing()
                remaining = LINGER_BYTES
                while remaining > 0 and (piece := await self._receive(MAX_READ_BYTES)):
                    remaining -= len(piece)
        except OSError:
            return

    async def _receive(self, most: int) -> bytes:
        return await asyncio.get_running_loop().sock_recv(self._socket, most)


class IdleLimit:
    """A timeout that restarts with every activity."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._timeout = asyncio.timeout(seconds)

    async def __aenter__(self) -> Self:
        await self._timeout.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._timeout.__aexit__(kind, error, trace)

    def reset(self) -> None:
        """Restart the timeout."""
        if not self._timeout.expired():
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._seconds)


async def run_all(*work: Coroutine[None, None, None]) -> None:
    """Run all tasks concurrently; the first error cancels the rest."""
    try:
        async with asyncio.TaskGroup() as group:
            for coroutine in work:
                group.create_task(coroutine)
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
