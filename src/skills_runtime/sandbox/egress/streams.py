"""One end of a connection: a socket that does not block, and bytes that were read ahead of need."""

import asyncio
import socket
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Self, TypeVar

from skills_runtime.sandbox.egress.rules import Parsed, Refused, Stopped, Wanting

T = TypeVar("T")

PIECE = 65536
LINGER_SECONDS = 1.0
LINGER_BYTES = 1 << 20


class Peer:
    """Reads by parsers and writes everything; closes its socket at the end of the `with` block."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(0)
        self._socket = connection
        self._rest = b""
        self.midway = False
        """Whether the other end has been promised something that would be spoilt by other words."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    async def peek(self, seconds: float) -> bytes:
        """What has been read ahead, at least one byte unless the other end has closed."""
        if not self._rest:
            async with asyncio.timeout(seconds):
                self._rest = await self._receive(PIECE)
        return self._rest

    async def take(
        self, parse: Callable[[bytes], Parsed[T] | Wanting | Refused], seconds: float | None = None
    ) -> T | None:
        """What the parser makes of the next bytes; nothing when the other end closed before the first of them."""
        async with asyncio.timeout(seconds):
            while True:
                found = parse(self._rest) if self._rest else Wanting()
                if isinstance(found, Parsed):
                    self._rest = self._rest[found.used :]
                    return found.value
                if isinstance(found, Refused):
                    raise Stopped(found)
                piece = await self._receive(PIECE)
                if not piece and not self._rest:
                    return None
                if not piece:
                    raise Stopped(Refused("closed", "the connection was closed in the middle of a message"))
                self._rest += piece

    async def read(self, most: int = PIECE) -> bytes:
        """The next bytes, nothing at the end."""
        if self._rest:
            piece, self._rest = self._rest[:most], self._rest[most:]
            return piece
        return await self._receive(min(most, PIECE))

    async def send(self, data: bytes) -> None:
        """Write all of it."""
        await asyncio.get_running_loop().sock_sendall(self._socket, data)

    def end_writing(self) -> None:
        """Tell the other end that nothing more comes; it may still send."""
        self._socket.shutdown(socket.SHUT_WR)

    async def farewell(self, data: bytes = b"") -> None:
        """Send last words if they fit in, and let them arrive: closing with unread bytes would take them back."""
        try:
            async with asyncio.timeout(LINGER_SECONDS):
                if not self.midway:
                    await self.send(data)
                self.end_writing()
                left = LINGER_BYTES
                while left > 0 and (piece := await self._receive(PIECE)):
                    left -= len(piece)
        except OSError:
            return

    async def _receive(self, most: int) -> bytes:
        return await asyncio.get_running_loop().sock_recv(self._socket, most)


class IdleLimit:
    """A time limit that begins anew whenever something moves."""

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

    def moved(self) -> None:
        """Begin anew."""
        if not self._timeout.expired():
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._seconds)


async def together(*work: Coroutine[None, None, None]) -> None:
    """Do all of it at once; the first error ends the rest."""
    try:
        async with asyncio.TaskGroup() as group:
            for one in work:
                group.create_task(one)
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
