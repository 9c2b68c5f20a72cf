"""A proxy with real clients in front and real servers behind, all on this machine, and a check that nothing is left."""

import asyncio
import socket
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.sandbox.egress import (
    EgressLimits,
    EgressPolicy,
    EgressPorts,
    EgressRecord,
    allow_rule,
    egress_proxy,
)

CERTIFICATE = Path(__file__).with_name("certificate.pem")
"""Made for these tests, valid for allowed.test and other.test; the key in it protects nothing."""

HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-From: server\r\n\r\nhello"
PATIENCE = 20.0


class Origin:
    """A server that keeps every byte it gets and answers each connection as it is told to."""

    def __init__(self, answer: bytes, until: bytes) -> None:
        self.port = 0
        self.connections = 0
        self.received: list[bytes] = []
        self.ended = asyncio.Event()
        self._answer = answer
        self._until = until

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        index = len(self.received)
        self.received.append(b"")
        try:
            while self._until not in self.received[index]:
                piece = await reader.read(65536)
                if not piece:
                    return
                self.received[index] += piece
            writer.write(self._answer)
            await writer.drain()
        except ConnectionError:
            return
        finally:
            self.ended.set()
            writer.close()


@asynccontextmanager
async def origin(
    answer: bytes = HELLO, *, until: bytes = b"\r\n\r\n", tls: bool = False, host: str = "127.0.0.1"
) -> AsyncGenerator[Origin]:
    """A server that answers when it has seen `until`."""
    context = None
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
    origin = Origin(answer, until)
    server = await asyncio.start_server(origin.serve, host, 0, ssl=context)
    origin.port = server.sockets[0].getsockname()[1]
    async with server:
        yield origin


class Stand:
    """A proxy under test: where it is, and what it has told."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.records: list[EgressRecord] = []
        self._more = asyncio.Event()

    def record(self, record_: EgressRecord) -> None:
        self.records.append(record_)
        self._more.set()

    async def wait_for_records(self, count: int) -> list[EgressRecord]:
        """The records, when there are as many."""
        async with asyncio.timeout(PATIENCE):
            while len(self.records) < count:
                self._more.clear()
                await self._more.wait()
        return self.records

    @property
    def outcomes(self) -> list[tuple[str, str, str]]:
        return [(record.stage, record.verdict, record.kind) for record in self.records]

    async def connect(self) -> "Client":
        return Client(*await asyncio.open_connection("127.0.0.1", self.port))

    async def say(self, *parts: bytes) -> bytes:
        """Send each part, and read everything until the proxy closes."""
        client = await self.connect()
        async with asyncio.timeout(PATIENCE):
            for part in parts:
                await client.send(part)
            answer = await client.rest()
        await client.close()
        return answer


class Client:
    """A client that sends the bytes it is told to."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def until(self, mark: bytes) -> bytes:
        async with asyncio.timeout(PATIENCE):
            return await self.reader.readuntil(mark)

    async def exactly(self, count: int) -> bytes:
        async with asyncio.timeout(PATIENCE):
            return await self.reader.readexactly(count)

    async def rest(self) -> bytes:
        data = b""
        async with asyncio.timeout(PATIENCE):
            try:
                while piece := await self.reader.read(65536):
                    data += piece
            except ConnectionResetError:
                return data
        return data

    async def close(self) -> None:
        self.writer.close()
        try:
            await self.writer.wait_closed()
        except (ConnectionError, ssl.SSLError):
            return


async def all_on_this_machine(_name: str, _port: int) -> Sequence[str]:
    """Every name is this machine."""
    return ["127.0.0.1"]


def local(host: str, *ports: int, **leave: Any) -> EgressPolicy:
    """A policy that allows one name on this machine."""
    return EgressPolicy(allow=(allow_rule(f"{host}:{','.join(map(str, ports))}", private="allowed", **leave),))


@asynccontextmanager
async def proxied(
    policy: EgressPolicy,
    *,
    ask: Callable[[str, int], Awaitable[bool]] | None = None,
    resolve: Callable[[str, int], Awaitable[Sequence[str]]] | None = all_on_this_machine,
    limits: EgressLimits | None = None,
    record: Callable[[EgressRecord], None] | None = None,
) -> AsyncGenerator[Stand]:
    """A proxy with a listener of its own."""
    listener = socket.create_server(("127.0.0.1", 0))
    stand = Stand(listener.getsockname()[1])
    ports = EgressPorts(
        policy=policy, record=record or stand.record, ask=ask, resolve=resolve, limits=limits or EgressLimits()
    )
    async with egress_proxy(listener, ports):
        yield stand


def open_descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """No descriptor of a test outlives it."""
    before = open_descriptors()
    yield
    assert open_descriptors() <= before
