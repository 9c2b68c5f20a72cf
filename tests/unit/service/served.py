"""A service with only the routes about runs, on a real port, in the event loop of the test."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from importlib import import_module
from inspect import isfunction
from pathlib import Path
from typing import Any, NamedTuple, cast

import httpx2
import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from skills_runtime.config import Resolved, state_home
from skills_runtime.engine import RunService, Workspace
from skills_runtime.engine.agent_factory import Model
from skills_runtime.llm import FakeChatCall, ScriptedBackend
from skills_runtime.ports import Backend
from skills_runtime.service.access.callers import SCOPES, Caller
from skills_runtime.service.bootstrap import open_runs
from skills_runtime.service.problems import install_error_handlers
from skills_runtime.service.streams import Streams

ROUTES = (
    "runs", "events", "files", "approvals", "sessions", "studio_v1", "skills", "configuration",
)  # fmt: skip
OWNER = Caller(kind="token", name="owner", scopes=frozenset(SCOPES))


class Message(NamedTuple):
    """One message of a stream."""

    id: int
    event: str
    data: str


class Served:
    """A service that is running, and a client of it."""

    def __init__(self, runs: RunService, streams: Streams, client: httpx2.AsyncClient, port: int) -> None:
        self.runs = runs
        self.streams = streams
        self.client = client
        self.port = port

    async def get(self, path: str, **options: Any) -> httpx2.Response:
        return await self.client.get(f"/api/v1{path}", **options)

    async def post(self, path: str, body: Any = None, **headers: str) -> httpx2.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.client.post(f"/api/v1{path}", json=body, headers=named)

    async def begin(self, prompt: str = "do it", **body: Any) -> str:
        answer = await self.post("/runs", {"prompt": prompt, **body})
        assert answer.status_code == 201, answer.text
        return answer.json()["run_id"]

    async def follow(self, run_id: str, **headers: str) -> list[Message]:
        """Everything a stream says until it ends."""
        answer = await self.get(f"/runs/{run_id}/events/stream", headers=headers)
        assert answer.status_code == 200, answer.text
        return messages_in(answer.text)

    async def until(self, run_id: str, *statuses: str) -> dict[str, Any]:
        """The run as soon as it is in one of these states; each look waits for more events."""
        while True:
            run = (await self.get(f"/runs/{run_id}")).json()
            if run["status"] in statuses and (run["status"] in ENDED or run_id not in self.runs):
                return run
            await asyncio.sleep(0.01)

    def log(self, run_id: str) -> list[str]:
        """The lines of the log."""
        return self.runs.find(run_id).events.read_text().splitlines()


ENDED = ("completed", "failed", "cancelled")


def messages_in(text: str) -> list[Message]:
    """The messages of a stream; comments and empty ones are no messages."""
    messages: list[Message] = []
    for block in text.split("\n\n"):
        parts = [line.partition(": ") for line in block.splitlines() if not line.startswith(":")]
        fields = {name: value for name, _, value in parts}
        if "data" in fields:
            messages.append(Message(int(fields["id"]), fields["event"], fields["data"]))
    return messages


def types_in(lines: Iterable[str]) -> list[str]:
    """The types of the events in these lines."""
    return [json.loads(line)["type"] for line in lines]


@asynccontextmanager
async def serving(
    workspace: Path, answers: Iterable[FakeChatCall] | Backend | Model = (), **settings: Any
) -> AsyncGenerator[Served]:
    """A service whose model gives these answers, or is made from the settings as a real one is."""
    scripted = isinstance(answers, Iterable)
    backend = ScriptedBackend(cast("Iterable[FakeChatCall]", answers)) if scripted else answers

    def model(resolved: Resolved) -> Backend:
        return backend(resolved) if isfunction(backend) else cast("Backend", backend)

    given = {"safety": {"mode": "allow"}, **settings}
    home = Workspace(workspace_root=workspace, state=state_home(), user_settings=given)
    async with open_runs(home, model=model) as (runs, streams):
        app = app_of(runs, streams)
        listening = socket.socket()
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        config = uvicorn.Config(app, lifespan="off", log_config=None, access_log=False, ws="none")
        server = uvicorn.Server(config)
        task = asyncio.create_task(server.serve([listening]))
        limits = httpx2.Limits(max_connections=None)
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", limits=limits, timeout=60) as client:
            try:
                yield Served(runs, streams, client, port)
            finally:
                await streams.close()
                server.should_exit = True
                await asyncio.wait([task])


def app_of(runs: RunService, streams: Streams) -> FastAPI:
    """An app with the routes about runs, for somebody who may do everything."""
    app = FastAPI()
    app.state.runs, app.state.streams = runs, streams
    install_error_handlers(app)
    for name in ROUTES:
        app.include_router(import_module(f"skills_runtime.service.routes.{name}").router)

    app.add_middleware(_Owned)
    return app


class _Owned:
    """Says of every request that the owner makes it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})["caller"] = OWNER
        await self._app(scope, receive, send)
