"""A thousand who follow one run: each gets every event, and the run is hardly slower than without them.

Server and clients are processes of their own on one machine; the run is paced by its model at 200 events a second.
"""

import asyncio
import json
import re
import resource
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import uvicorn
from fastapi import FastAPI

from benchmarks.fixture import directory
from benchmarks.measure import Number, report
from skills_runtime.config import Resolved
from skills_runtime.ports import Backend, ChatRequest, ChatStreamEvent, ToolCall
from skills_runtime.service.routes import events, runs
from skills_runtime.service.work import Home, Order, open_work

LISTENERS = 1000
ROUNDS = 3
"""The best of them counts: whoever else uses the machine only ever makes one slower."""
TURNS = 300
TURN_SECONDS = 0.022
"""A turn has six events, and takes some milliseconds itself."""
_ID = re.compile(rb"^id: (\d+)$", re.MULTILINE)


class Paced:
    """A model that calls a small tool every so often, once everybody is there."""

    def __init__(self) -> None:
        self.go = asyncio.Event()

    async def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        await self.go.wait()
        await asyncio.sleep(TURN_SECONDS)
        if request.answered < TURNS:
            call = ToolCall(id=f"c{request.answered}", name="file_read", arguments='{"path": "note.txt"}')
            yield ChatStreamEvent(type="tool_calls", tool_calls=[call])
        else:
            yield ChatStreamEvent(type="text_delta", text="done")
        yield ChatStreamEvent(type="completed", finish_reason="stop")


async def serve(place: Path, listening: socket.socket) -> None:
    """Serve one run after the other; a line on stdin names one to begin, and how long it took is printed at its end."""
    settings: dict[str, Any] = {"safety": {"mode": "allow"}, "run": {"max_steps": 10_000}}
    home = Home(workspace_root=place, state=place / "state", given=settings)
    paced = Paced()

    def model(_: Resolved) -> Backend:
        return paced

    async with open_work(home, model=model) as work:
        app = FastAPI()
        app.state.work = work
        app.include_router(runs.router)
        app.include_router(events.router)
        config = uvicorn.Config(app, lifespan="off", log_level="error", ws="none", backlog=2048)
        serving = asyncio.create_task(uvicorn.Server(config).serve([listening]))
        while run_id := (await asyncio.to_thread(sys.stdin.readline)).strip():
            listeners = LISTENERS if run_id.startswith("followed") else 0
            paced.go.clear()
            await work.create(Order(prompt="go", run_id=run_id))
            print(run_id, flush=True)
            while work.streams.listeners < listeners:
                await asyncio.sleep(0.05)
            begun = time.perf_counter()
            paced.go.set()
            while run_id in work.attendance:
                await asyncio.sleep(0.05)
            print(time.perf_counter() - begun, flush=True)
        serving.cancel()


class Follower(asyncio.Protocol):
    """One who follows, and counts."""

    def __init__(self, run_id: str, done: "asyncio.Future[int]") -> None:
        self._run_id = run_id
        self._done = done
        self._rest = b""
        self._next = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(f"GET /api/v1/runs/{self._run_id}/events/stream HTTP/1.1\r\nHost: x\r\n\r\n".encode())

    def data_received(self, data: bytes) -> None:
        whole, found, self._rest = (self._rest + data).rpartition(b"\n\n")
        for number in _ID.findall(whole) if found else ():
            if int(number) != self._next:
                self._done.set_exception(AssertionError(f"{int(number)} came instead of {self._next}"))
            self._next += 1
        if found and b"event: run_completed" in whole[-100_000:] and not self._done.done():
            self._done.set_result(self._next)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._done.done():
            self._done.set_exception(AssertionError(f"cut after {self._next} events"))


async def follow(port: int, run_id: str) -> list[int]:
    """How many events each of a thousand got, all in order."""
    loop = asyncio.get_running_loop()
    done = [loop.create_future() for _ in range(LISTENERS)]
    for one in done:
        await loop.create_connection(lambda one=one: Follower(run_id, one), "127.0.0.1", port)
    return await asyncio.gather(*done)


class Server:
    """The process with the runs."""

    def __init__(self, place: Path) -> None:
        (place / "note.txt").write_text("hello")
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            self.port: int = listening.getsockname()[1]
            command = [sys.executable, "-m", "benchmarks.sse", "serve", str(place), str(listening.fileno())]
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, pass_fds=[listening.fileno()]
            )

    def say(self, line: str) -> None:
        """Begin a run, or end with an empty line."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def told(self) -> str:
        """The next line it prints."""
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def alone(self, run_id: str) -> float:
        """How long a run takes that nobody follows."""
        self.say(run_id)
        self.told()
        return float(self.told())

    def followed(self, run_id: str) -> tuple[float, int, list[int]]:
        """How long a run takes that a thousand follow, how many events it has, and how many each of them got."""
        self.say(run_id)
        self.told()
        command = [sys.executable, "-m", "benchmarks.sse", "follow", str(self.port), run_id]
        clients = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        seconds = float(self.told())
        with urlopen(f"http://127.0.0.1:{self.port}/api/v1/runs/{run_id}") as answer:
            total = json.load(answer)["last_seq"] + 1
        return seconds, total, json.loads(clients.stdout)


def main() -> None:
    with directory() as place:
        server = Server(place)
        alone: list[float] = []
        followed: list[tuple[float, int, list[int]]] = []
        for number in range(ROUNDS):
            alone.append(server.alone(f"alone-{number}"))
            followed.append(server.followed(f"followed-{number}"))
        server.say("")
        server.process.wait(timeout=60)
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    complete = min(sum(count == total for count in got) for _, total, got in followed)
    seconds, total, _ = min(followed)
    report(
        Number("events a second of the run, followed", total / seconds, "/s", 180, "at least"),
        Number("listeners that got every event in order", complete, "", LISTENERS, "at least"),
        Number("how much slower the run is for 1,000 listeners", 100 * (seconds / min(alone) - 1), "%", 5, "at most"),
        Number("memory of the larger of server and clients", memory, "MB", 400, "at most"),
    )


if __name__ == "__main__":
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    match sys.argv[1:]:
        case ["serve", place, number]:
            asyncio.run(serve(Path(place), socket.socket(fileno=int(number))))
        case ["follow", port, run_id]:
            print(json.dumps(asyncio.run(follow(int(port), run_id))))
        case _:
            main()
