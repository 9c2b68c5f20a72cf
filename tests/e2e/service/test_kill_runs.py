"""The server is killed again and again under load: what it acknowledged is done once, and every stream is the log."""

import asyncio
import random
import socket
from collections.abc import AsyncGenerator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest

from skills_runtime.agent.assemble import log_ports
from skills_runtime.runs import RunPaths, runs_root, verify_run
from tests.e2e.service.killable import serve_until_killed
from tests.support.zygote import Zygote, zygote
from tests.unit.service.runs.served import ROUTES, Message, messages_in, types_in

KILLS = 50
CLIENTS = 4
IMPORTED = (
    "tests.e2e.service.killable",
    "skills_runtime.tools.builtin",
    "skills_runtime.safety.guard.paths",
    *(f"skills_runtime.service.routes.{name}" for name in ROUTES),
)
"""What a server needs before its first run has ended."""
GONE = (httpx2.TransportError, ConnectionError)
FILES = {"deliverables/one.txt": "1", "deliverables/two.txt": "2", "deliverables/three.txt": "3"}


class World:
    """A workspace, a server that comes and goes, and everything clients were told."""

    def __init__(self, nursery: Zygote, workspace: Path, port: int) -> None:
        self.workspace = workspace
        self.port = port
        self._nursery = nursery
        self._server = ExitStack()
        self.begun: dict[str, str] = {}
        self.told: dict[str, list[str]] = {}
        self.seen: dict[str, list[Message]] = {}
        self.happened = asyncio.Event()
        self.over = False

    def start(self) -> None:
        """Start a server, in a process that has imported everything already: no time for fifty full starts."""
        self._server.enter_context(self._nursery.child(serve_until_killed, self.workspace, self.port))

    def kill(self) -> None:
        """End it with a signal that it never hears of."""
        self._server.close()

    async def until_happened(self, times: int) -> None:
        for _ in range(times):
            self.happened.clear()
            await self.happened.wait()

    async def ask(self, client: httpx2.AsyncClient, path: str, body: Any, key: str) -> httpx2.Response:
        """Ask until there is an answer, as a client with an idempotency key may."""
        while True:
            try:
                answer = await client.post(path, json=body, headers={"Idempotency-Key": key})
            except GONE:
                await asyncio.sleep(0.05)
                continue
            self.happened.set()
            return answer

    def log(self, run_id: str) -> list[str]:
        return RunPaths(runs_root(self.workspace) / run_id).events.read_text().splitlines()


async def load(world: World, client: httpx2.AsyncClient, name: str) -> None:
    """One who begins runs, says something to each, and follows it to its end."""
    number = 0
    while not world.over:
        number += 1
        key = f"{name}-{number}"
        answer = await world.ask(client, "/api/v1/runs", {"prompt": f"task {key}"}, key)
        assert answer.status_code in (200, 201), answer.text
        run_id = answer.json()["run_id"]
        world.begun[key] = run_id
        said = await world.ask(client, f"/api/v1/runs/{run_id}/messages", {"text": f"note {key}"}, f"note-{key}")
        if said.status_code == 202:
            world.told.setdefault(run_id, []).append(f"note {key}")
        await follow(world, client, run_id)


async def follow(world: World, client: httpx2.AsyncClient, run_id: str) -> None:
    """Follow a run as a browser does: whenever the connection breaks, come again with the last id."""
    seen = world.seen.setdefault(run_id, [])
    while True:
        headers = {"Last-Event-ID": str(seen[-1].id)} if seen else {}
        try:
            async with client.stream("GET", f"/api/v1/runs/{run_id}/events/stream", headers=headers) as answer:
                if answer.status_code == 204:
                    return
                assert answer.status_code == 200
                rest = ""
                async for text in answer.aiter_text():
                    whole, separator, rest = (rest + text).rpartition("\n\n")
                    seen += messages_in(whole) if separator else []
                    world.happened.set()
        except GONE:
            await asyncio.sleep(0.05)
        if seen and seen[-1].event in ("run_completed", "run_failed", "run_cancelled"):
            return


@pytest.fixture
async def world(tmp_path: Path) -> AsyncGenerator[World]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with zygote(*IMPORTED) as nursery:
        found = World(nursery, tmp_path, port)
        try:
            yield found
        finally:
            found.kill()


async def test_nothing_acknowledged_is_lost_when_the_server_is_killed(world: World) -> None:
    chance = random.Random(20261116)
    base = f"http://127.0.0.1:{world.port}"
    world.start()
    async with httpx2.AsyncClient(base_url=base, timeout=60, trust_env=False) as client:
        clients = [asyncio.create_task(load(world, client, f"c{number}")) for number in range(CLIENTS)]
        for _ in range(KILLS):
            await asyncio.wait_for(world.until_happened(chance.randrange(1, 40)), timeout=120)
            world.kill()
            world.start()
        world.over = True
        await asyncio.wait_for(asyncio.gather(*clients), timeout=180)
    assert len(set(world.begun.values())) == len(world.begun) >= CLIENTS
    for run_id in world.begun.values():
        check_run(world, run_id)
    assert {path.name for path in runs_root(world.workspace).iterdir() if not path.name.startswith(".")} == set(
        world.begun.values()
    )


def check_run(world: World, run_id: str) -> None:
    lines, root = world.log(run_id), runs_root(world.workspace) / run_id
    assert types_in(lines)[-1] == "run_completed", types_in(lines)
    assert [message.data for message in world.seen[run_id]] == lines
    assert [message.id for message in world.seen[run_id]] == list(range(len(lines)))
    for note in world.told.get(run_id, []):
        assert sum(note in line for line in lines if '"inbox_received"' in line) == 1
    assert {name: (root / name).read_text() for name in FILES} == FILES
    verdict = verify_run(root, log_ports().keys)
    assert verdict.ok, verdict.findings
