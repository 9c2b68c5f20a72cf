"""The server is killed again and again under load: what it acknowledged is done once, and every stream is the log."""

import asyncio
import json
import os
import random
import re
import socket
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from pkgutil import iter_modules

import httpx2
import pytest

from skills_runtime.agent.run_ports import log_ports
from skills_runtime.config import state_home
from skills_runtime.runs import runs_root, verify_run
from skills_runtime.service import routes
from skills_runtime.service.access.token import service_token
from tests.e2e.service.chaos import World, begin_runs, execute, execute_skills
from tests.e2e.service.killable import NOTES, make_place, serve_until_killed
from tests.e2e.service.subreaper import ADOPTING
from tests.support.children import zygote
from tests.support.examples import examples
from tests.unit.service.served import types_in

KILLS, STOPS = examples(50), examples(6)
IMPORTED = (
    serve_until_killed.__module__,
    "anyio._backends._asyncio",
    "re2",
    "rfc8785",
    "skills_runtime.tools.builtin",
    "skills_runtime.processes.script_environments",
    "skills_runtime.safety.guard.programs.table",
    "skills_runtime.safety.guard.paths",
    "skills_runtime.safety.guard.walk",
    *(f"{routes.__name__}.{found.name}" for found in iter_modules(routes.__path__)),
)
"""What a server needs before its first run has ended."""
FILES = {"deliverables/one.txt": "1", "deliverables/two.txt": "2", "deliverables/three.txt": "3"}
PROCESSES = "p"
"""The client whose runs start processes."""


@pytest.fixture
async def world(tmp_path: Path) -> AsyncGenerator[World]:
    make_place(tmp_path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with zygote(*IMPORTED, within=ADOPTING) as nursery:
        new_world = World(nursery, tmp_path, port)
        try:
            yield new_world
        finally:
            new_world.kill()


@pytest.fixture
def notes(world: World) -> Iterator[int]:
    """The end of the pipe into which a skill writes a line whenever it is executed."""
    reading = os.open(world.workspace / "skills" / "noting" / NOTES, os.O_RDWR | os.O_NONBLOCK)
    try:
        yield reading
    finally:
        os.close(reading)


@pytest.fixture
async def client(world: World) -> AsyncGenerator[httpx2.AsyncClient]:
    token = {"Authorization": f"Bearer {service_token(state_home())}"}
    base = f"http://127.0.0.1:{world.port}"
    async with httpx2.AsyncClient(base_url=base, headers=token, timeout=60, trust_env=False) as running_service:
        yield running_service


async def test_nothing_acknowledged_is_lost_when_the_server_is_killed(
    world: World, client: httpx2.AsyncClient, notes: int
) -> None:
    chance = random.Random(20261116)
    async with load(world, client):
        for _ in range(KILLS):
            orphans = asyncio.create_task(asyncio.to_thread(world.orphans))
            await asyncio.wait_for(world.until_happened(chance.randrange(1, 20)), timeout=120)
            assert await orphans == []
            world.kill()
            world.start()
    await check_everything(world, client, notes)
    world.kill()
    assert await asyncio.to_thread(world.orphans) == []
    assert world.bereaved > KILLS


async def test_nothing_is_lost_when_the_server_is_stopped_and_started_again(
    world: World, client: httpx2.AsyncClient, notes: int
) -> None:
    chance = random.Random(20261117)
    async with load(world, client):
        for _ in range(STOPS):
            await asyncio.wait_for(world.until_happened(chance.randrange(1, 20)), timeout=120)
            assert await asyncio.to_thread(world.stop) == 0
            assert await asyncio.to_thread(world.orphans) == []
            world.start()
    assert {told["status"] for told in world.executed.values()} == {"completed"}
    await check_everything(world, client, notes)


@asynccontextmanager
async def load(world: World, client: httpx2.AsyncClient) -> AsyncGenerator[None]:
    """Clients who are at it for as long as the block lasts, and then finish what they have begun."""
    world.start()
    clients = [
        asyncio.create_task(begin_runs(world, client, "r", processes=False)),
        asyncio.create_task(begin_runs(world, client, PROCESSES, processes=True)),
        *(asyncio.create_task(execute_skills(world, client, name)) for name in ("x", "y")),
    ]
    yield
    world.over = True
    await asyncio.wait_for(asyncio.gather(*clients), timeout=180)


async def check_everything(world: World, client: httpx2.AsyncClient, notes: int) -> None:
    for key, run_id in world.begun.items():
        check_run(world, key, run_id)
    assert set(world.begun.values()) == {
        path.name for path in runs_root(world.workspace).iterdir() if not path.name.startswith(".")
    }
    await check_executions(world, client, Counter(re.findall(rb'"key": "([\w-]+)"', os.read(notes, 1 << 20))))


def check_run(world: World, key: str, run_id: str) -> None:
    lines, root = world.log(run_id), runs_root(world.workspace) / run_id
    assert types_in(lines)[-1] == "run_completed", types_in(lines)
    assert [message.data for message in world.seen[run_id]] == lines
    assert [message.id for message in world.seen[run_id]] == list(range(len(lines)))
    for note in world.told.get(run_id, []):
        assert sum(note in line for line in lines if '"inbox_received"' in line) == 1
    if key.startswith(PROCESSES):
        check_effect(world, key, lines)
    else:
        assert {name: (root / name).read_text() for name in FILES} == FILES
    verdict = verify_run(root, log_ports().keys)
    assert verdict.ok, verdict.findings


def check_effect(world: World, key: str, lines: list[str]) -> None:
    """Once if the log says so, and at most once where it says that nobody knows."""
    file = world.workspace / "effects" / key
    times = len(file.read_text().splitlines()) if file.exists() else 0
    events = [json.loads(line) for line in lines]
    ended = [event["payload"]["result"] for event in events if event["type"] == "tool_call_finished"]
    result = ended[0]
    assert times <= 1
    assert (times, result["ok"]) == (1, True) or result["error_kind"] == "unknown", result


async def check_executions(world: World, client: httpx2.AsyncClient, noted: Counter[bytes]) -> None:
    """Everything that was answered is still so; whatever was executed is known, and once."""
    for key, response in world.executed.items():
        assert await execute(world, client, key, response["skill"]) == response
        assert response["status"] == "completed" or response["error"]["code"] == "interrupted", response
        if response["skill"] == "noting":
            assert noted[key.encode()] <= 1
            assert noted[key.encode()] == 1 or response["status"] != "completed"
    answer = await client.get("/api/v1/executions", params={"limit": 500})
    listed = [execution["execution_id"] for execution in answer.json()["executions"]]
    assert sorted(listed) == sorted(told["execution_id"] for told in world.executed.values())
