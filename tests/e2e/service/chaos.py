"""A server that comes and goes, and clients who never give up: everything they were told is noted."""

import asyncio
import signal
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2

from skills_runtime.runs import RunPaths, runs_root
from skills_runtime.sandbox.supervision import process_tree
from tests.e2e.service.killable import SKILLS, WITH_PROCESS, serve_until_killed
from tests.e2e.service.subreaper import outlast, strays
from tests.support.children import Child, Zygote
from tests.unit.service.served import Message, messages_in

GONE = (httpx2.TransportError, ConnectionError)
BUSY = 429
AGAIN_SECONDS = 0.02
NOBODY_KNOWS = "nobody knows"


class World:
    """A workspace, its server, and what clients know."""

    def __init__(self, nursery: Zygote, workspace: Path, port: int) -> None:
        self.workspace = workspace
        self.port = port
        self._nursery = nursery
        self._server = ExitStack()
        self._below = 0
        self._child: Child | None = None
        self._own: tuple[int, ...] = ()
        self.begun: dict[str, str] = {}
        self.told: dict[str, list[str]] = {}
        self.seen: dict[str, list[Message]] = {}
        self.executed: dict[str, dict[str, Any]] = {}
        self.bereaved = 0
        """How many processes were still there when the server that had started them was killed."""
        self.happened = asyncio.Event()
        self.over = False

    def start(self) -> None:
        """Start a server, in a process that has imported everything already: no time for fifty full starts."""
        child = self._server.enter_context(self._nursery.child(serve_until_killed, self.workspace, self.port))
        self._child, self._own = child, (child.pid,)
        started = process_tree.find_process(child.pid)
        assert started is not None
        self._below = started.parent

    def kill(self) -> None:
        """End it with a signal that it never hears of."""
        self._server.close()
        self._own = ()
        self.bereaved += len(strays(self._below, without=()))

    def stop(self) -> int:
        """Tell it to end, and wait for that; returns its exit code."""
        assert self._child is not None
        self._child.send(signal.SIGTERM)
        code = self._child.join()
        self._server.close()
        self._own = ()
        return code

    def orphans(self) -> list[str]:
        """Wait until no process of an earlier server is left; those that never end are told."""
        return outlast(self._below, without=self._own)

    async def until_happened(self, times: int) -> None:
        """Wait until clients have heard something so many times."""
        for _ in range(times):
            self.happened.clear()
            await self.happened.wait()

    async def ask(self, client: httpx2.AsyncClient, path: str, body: Any, key: str) -> httpx2.Response:
        """Ask until there is an answer, as a client with an idempotency key may."""
        while True:
            try:
                answer = await client.post(path, json=body, headers={"Idempotency-Key": key})
            except GONE:
                await asyncio.sleep(AGAIN_SECONDS)
                continue
            if answer.status_code == BUSY:  # it is about to stop
                await asyncio.sleep(AGAIN_SECONDS)
                continue
            self.happened.set()
            return answer

    def log(self, run_id: str) -> list[str]:
        """The lines of a log."""
        return RunPaths(runs_root(self.workspace) / run_id).events.read_text().splitlines()


async def begin_runs(world: World, client: httpx2.AsyncClient, name: str, *, processes: bool) -> None:
    """One who begins runs, says something to each, and follows it to its end."""
    number = 0
    while not world.over:
        number += 1
        key = f"{name}-{number}"
        task = f"{WITH_PROCESS}{key}" if processes else f"task {key}"
        answer = await world.ask(client, "/api/v1/runs", {"prompt": task}, key)
        assert answer.status_code in (200, 201), answer.text
        run_id = answer.json()["run_id"]
        world.begun[key] = run_id
        response = await world.ask(client, f"/api/v1/runs/{run_id}/messages", {"text": f"note {key}"}, f"note-{key}")
        if response.status_code == 202:
            world.told.setdefault(run_id, []).append(f"note {key}")
        await follow(world, client, run_id)


async def follow(world: World, client: httpx2.AsyncClient, run_id: str) -> None:
    """Follow a run as a browser does: whenever the connection breaks, come again with the last id."""
    messages = world.seen.setdefault(run_id, [])
    while True:
        headers = {"Last-Event-ID": str(messages[-1].id)} if messages else {}
        try:
            async with client.stream("GET", f"/api/v1/runs/{run_id}/events/stream", headers=headers) as answer:
                if answer.status_code == 204:
                    return
                assert answer.status_code == 200
                rest = ""
                async for text in answer.aiter_text():
                    whole, separator, rest = (rest + text).rpartition("\n\n")
                    new = messages_in(whole) if separator else []
                    messages += new
                    world.happened.set()
                    if any(message.event == "human_request" for message in new):
                        await _answer(world, client, run_id)
        except GONE:
            await asyncio.sleep(AGAIN_SECONDS)
        if messages and messages[-1].event in ("run_completed", "run_failed", "run_cancelled"):
            return


async def _answer(world: World, client: httpx2.AsyncClient, run_id: str) -> None:
    """Say that nobody knows whether a call that was cut off had happened."""
    response = await world.ask(client, f"/api/v1/runs/{run_id}/answers", {"answer": NOBODY_KNOWS}, f"answer-{run_id}")
    assert response.status_code == 202, response.text


async def execute_skills(world: World, client: httpx2.AsyncClient, name: str) -> None:
    """One who has skills executed, one after the other."""
    number = 0
    while not world.over:
        number += 1
        key = f"{name}-{number}"
        world.executed[key] = await execute(world, client, key, SKILLS[number % len(SKILLS)])


async def execute(world: World, client: httpx2.AsyncClient, key: str, skill: str) -> dict[str, Any]:
    """What a server says of the execution with this key."""
    answer = await world.ask(client, "/api/v1/executions", {"skill": skill, "input": {"key": key}}, key)
    assert answer.status_code == 201, answer.text
    return answer.json()
