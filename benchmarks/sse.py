"""Measure a thousand clients of one run: each gets every event, and the run is hardly slower than without them.

Server and clients are separate processes on one machine. The server has two runs, each paced by its model at 200 events
a second: one with all the clients, the other without any. They take turns of some seconds, so that other load affects
both alike, and each turn of one is compared with the next turn of the other.
"""

import asyncio
import json
import resource
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI

from benchmarks.fixture import directory
from benchmarks.measure import Number, report
from skills_runtime.config import Resolved
from skills_runtime.engine import RunRequest, RunService, Workspace
from skills_runtime.ports import Backend, ChatRequest, ChatStreamEvent, ToolCall
from skills_runtime.service.bootstrap import open_runs
from skills_runtime.service.routes import events, runs
from skills_runtime.service.streams import Streams

LISTENERS = 1000
PAIRS = 8
TURNS = 100
"""Turns of a run before the other one continues."""
TURN_SECONDS = 0.022
"""A turn has six events, and takes some milliseconds itself."""
# Afterwards all clients have all events, and cost nothing while the other run is measured.
QUIET_SECONDS = 1.0
FOLLOWED, ALONE = "followed", "alone"


class Paced:
    """A model that calls a small tool at a given pace."""

    def __init__(self) -> None:
        self._left = {FOLLOWED: 0, ALONE: 0}
        self._told = asyncio.Condition()

    async def let(self, run_id: str, turns: int) -> None:
        """Let a run do some turns, and wait until it has."""
        async with self._told:
            self._left[run_id] = turns
            self._told.notify_all()
            await self._told.wait_for(lambda: self._left[run_id] == 0)

    async def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        run_id = request.run_id
        async with self._told:
            if self._left[run_id] > 1:  # the last one of a row is over when the next is asked for
                self._left[run_id] -= 1
            else:
                self._left[run_id] = 0
                self._told.notify_all()
                await self._told.wait_for(lambda: self._left[run_id] != 0)
        await asyncio.sleep(TURN_SECONDS)
        if self._left[run_id] > 0:
            call = ToolCall(id=f"c{request.answered}", name="file_read", arguments='{"path": "note.txt"}')
            yield ChatStreamEvent(type="tool_calls", tool_calls=[call])
        else:
            yield ChatStreamEvent(type="text_delta", text="done")
        yield ChatStreamEvent(type="completed", finish_reason="stop")


async def serve(place: Path, listening: socket.socket) -> None:
    """Serve both runs; print when clients may connect, and the measurements at the end."""
    settings: dict[str, Any] = {"run": {"max_steps": 10_000}}
    home = Workspace(workspace_root=place, state=place / "state", user_settings=settings)
    paced = Paced()

    def model(_: Resolved) -> Backend:
        return paced

    async with open_runs(home, model=model) as (service, streams):
        app = FastAPI()
        app.state.runs, app.state.streams = service, streams
        app.include_router(runs.router)
        app.include_router(events.router)
        config = uvicorn.Config(app, lifespan="off", log_level="error", ws="none", loop="asyncio", backlog=2048)
        serving = asyncio.create_task(uvicorn.Server(config).serve([listening]))
        for run_id in (FOLLOWED, ALONE):
            await service.create(RunRequest(prompt="go", run_id=run_id))
            await paced.let(run_id, 2)
        print("ready", flush=True)
        while streams.listeners < LISTENERS:
            await asyncio.sleep(0.05)
        measured = [await _pair(paced) for _ in range(PAIRS)]
        print(json.dumps({"measured": measured, "last": await _ended(service, streams, paced)}), flush=True)
        serving.cancel()


async def _pair(paced: Paced) -> list[tuple[float, float]]:
    """Return wall and CPU seconds of some turns of each run."""
    found: list[tuple[float, float]] = []
    for run_id in (FOLLOWED, ALONE):
        await asyncio.sleep(QUIET_SECONDS)
        wall, cpu = time.perf_counter(), time.process_time()
        await paced.let(run_id, TURNS)
        found.append((time.perf_counter() - wall, time.process_time() - cpu))
    return found


async def _ended(service: RunService, streams: Streams, paced: Paced) -> int:
    """Let both runs end, wait until all clients know, and return the number of the last event."""
    for run_id in (FOLLOWED, ALONE):
        ending = asyncio.create_task(paced.let(run_id, -1))
        while run_id in service:
            await asyncio.sleep(0.05)
        ending.cancel()
    while streams.listeners:
        await asyncio.sleep(0.05)
    return service.view(FOLLOWED).state.last_seq


def main() -> None:
    with directory() as place, socket.socket() as listening:
        (place / "note.txt").write_text("hello")
        listening.bind(("127.0.0.1", 0))
        port, number = listening.getsockname()[1], listening.fileno()
        command = [sys.executable, "-m", "benchmarks.sse", "serve", str(place), str(number)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, pass_fds=[number]) as server:
            assert server.stdout is not None
            server.stdout.readline()
            following = [sys.executable, "-m", "benchmarks.sse_following", str(port), FOLLOWED, str(LISTENERS)]
            clients = subprocess.run(following, check=True, stdout=subprocess.PIPE, text=True)
            told = json.loads(server.stdout.readline())
    seen, same = json.loads(clients.stdout)
    complete = same if seen == list(range(told["last"] + 1)) else 0
    _report(told["measured"], told["last"], complete)


def _report(measured: list[list[tuple[float, float]]], last: int, complete: int) -> None:
    slower = statistics.median(followed[0] / alone[0] for followed, alone in measured)
    seconds = sum(followed[0] for followed, _ in measured)
    share = sum(followed[1] - alone[1] for followed, alone in measured) / seconds
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    report(
        Number("events a second of the run, followed", last / seconds, "/s", 180, "at least"),
        Number("listeners that got every event in order", complete, "", LISTENERS, "at least"),
        Number("how much slower the run is for 1,000 listeners", 100 * (slower - 1), "%", 5, "at most"),
        Number("how much of a processor the 1,000 take", 100 * share, "%", 20, "at most"),
        Number("memory of the larger of server and clients", memory, "MB", 400, "at most"),
    )


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", place, number]:
            _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            asyncio.run(serve(Path(place), socket.socket(fileno=int(number))))
        case _:
            main()
