"""A service about runs that is there to be killed."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import IO

import uvicorn

from skills_runtime.config import Resolved, state_home
from skills_runtime.llm import ScriptedBackend
from skills_runtime.ports import Backend, ChatRequest, ChatStreamEvent
from skills_runtime.service.work import Home, open_work
from tests.support.agents import calls, says, writes
from tests.unit.service.runs.served import app_of

SCRIPT = [
    calls(writes("deliverables/one.txt", "1")),
    calls(("file_read", {"path": "deliverables/one.txt"}), writes("deliverables/two.txt", "2")),
    calls(writes("deliverables/three.txt", "3")),
    says("all ", "done"),
]


class Slow:
    """A model that takes a moment, so that there is something to be killed in the middle of."""

    def __init__(self) -> None:
        self._script = ScriptedBackend(SCRIPT)

    async def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        """Stream the next answer, piece by piece."""
        async for event in self._script.stream_chat(request):
            await asyncio.sleep(0.01)
            yield event


def _model(_: Resolved) -> Backend:
    return Slow()


async def main(workspace: Path, port: int) -> None:
    """Serve until killed."""
    home = Home(workspace_root=workspace, state=state_home(), given={"safety": {"mode": "allow"}})
    async with open_work(home, model=_model) as work:
        config = uvicorn.Config(app_of(work), host="127.0.0.1", port=port, lifespan="off", log_level="error", ws="none")
        await uvicorn.Server(config).serve()


def serve_until_killed(say: IO[bytes], hear: IO[bytes], workspace: Path, port: int) -> None:
    """Serve in a child that was forked for it."""
    del say, hear
    asyncio.run(main(workspace, port))
