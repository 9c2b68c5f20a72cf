"""A server in the event loop of the test, and a way to talk with it byte by byte."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.ports import Sandbox
from skills_runtime.processes.server import protocol as wire
from skills_runtime.processes.server.client import read_server_info
from skills_runtime.processes.server.directory import RuntimeDirectory
from skills_runtime.processes.server.methods import NoChildren, ServedChildren
from skills_runtime.processes.server.runtime_server import RuntimeServer
from skills_runtime.sandbox import NoSandbox
from tests.unit.processes.conftest import TAG, Tagged

NEVER = 3600.0


class Served:
    """A server that runs, and its clients."""

    def __init__(
        self,
        place: RuntimeDirectory,
        sandbox: Sandbox,
        *,
        children: ServedChildren | None = None,
        idle_seconds: float = NEVER,
    ) -> None:
        self.place = place
        lock = place.lock()
        assert lock is not None
        self._lock = lock
        self.server = RuntimeServer(place, sandbox, children or NoChildren(), idle_seconds=idle_seconds)
        self._ready = asyncio.Event()
        self.task = asyncio.create_task(self.server.run(self._ready.set))

    async def up(self) -> "Served":
        await self._ready.wait()
        return self

    async def down(self) -> None:
        self.server.stop()
        await self.task
        os.close(self._lock)

    async def call(self, method: str, **params: Any) -> Any:
        """The data of an answer, or its error."""
        return wire.parse_answer(await self.ask({"method": method, "params": params, "secret": self.secret}))

    async def ask(self, request: Any) -> bytes:
        return await self.say(json.dumps(request).encode() + b"\n")

    async def say(self, data: bytes, *, half_close: bool = False) -> bytes:
        """Send bytes and return everything that comes back."""
        reader, writer = await self.connect()
        try:
            writer.write(data)
            if half_close:
                writer.write_eof()
            return await reader.read()
        finally:
            writer.close()

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_unix_connection(self.place.address, limit=1 << 26)

    @property
    def secret(self) -> str:
        return read_server_info(self.place).secret

    async def spawn(self, cmd: str, **more: Any) -> int:
        return (await self.call("exec.spawn", cmd=cmd, **more))["session_id"]

    async def rest(self, number: int) -> dict[str, Any]:
        """Everything a session says until its end, with how it ended."""
        text = ""
        while True:
            said = await self.call("exec.read", session_id=number, yield_time_ms=60_000, until_idle_ms=0)
            text += said["stdout"]
            if not said["running"]:
                return {**said, "stdout": text}

    async def until(self, number: int, wanted: str) -> str:
        """What a session says until it has said this."""
        text = ""
        while wanted not in text:
            said = await self.call("exec.read", session_id=number, yield_time_ms=60_000, until_idle_ms=0)
            text += said["stdout"]
            assert said["running"], text
        return text


def unfenced(command: Tagged) -> NoSandbox:
    """No fence; the processes carry the tag of the test."""
    return _TaggedUnfenced(command)


class _TaggedUnfenced(NoSandbox):
    def __init__(self, command: Tagged) -> None:
        super().__init__({"PATH": command.environment["PATH"]})
        self._environment = {**self._environment, TAG: command.tag}


@pytest.fixture
def place(tmp_path: Path) -> "RuntimeDirectory":
    return RuntimeDirectory.open(tmp_path, create=True)


@pytest.fixture
async def served(place: RuntimeDirectory, command: Tagged) -> AsyncIterator[Served]:
    running = await Served(place, unfenced(command)).up()
    yield running
    await running.down()
    place.close()
