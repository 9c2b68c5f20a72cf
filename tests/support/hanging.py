"""Runs that hang where a test wants them to, and tell when they have got there."""

import asyncio
import os
import threading
import uuid
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Literal

from skills_runtime.agent import Agent
from skills_runtime.events.payloads import PlanUpdated
from skills_runtime.llm import FakeChatCall, ScriptedBackend
from skills_runtime.ports import ChatRequest, ChatStreamEvent, ToolContext, ToolResult
from skills_runtime.processes.supervision import tree
from tests.support.agents import Doing, agent_in, calls, says

TAG = "TEST_TAG"
Where = Literal["model", "async tool", "thread tool", "processes"]
PLACES: tuple[Where, ...] = ("model", "async tool", "thread tool", "processes")


class Hanging:
    """An agent whose run gets stuck once; whoever goes on with it is not held up."""

    def __init__(self, place: Path, where: Where) -> None:
        self.arrived = asyncio.Event()
        """Set when the run is where it hangs."""
        self.released = threading.Event()
        """Lets a thread go, which nothing else can end."""
        self.left = 0
        """How many have let go of what they held, when they were told to."""
        self.told: list[ChatRequest] = []
        self.thread_gone = asyncio.Event()
        self.late: list[BaseException] = []
        """What a thread was told that came back too late."""
        self._loop = asyncio.get_running_loop()
        self._tag = uuid.uuid4().hex
        self.environment = {TAG: self._tag}
        """What a command must have in its environment for its processes to be found."""
        self._stuck = False
        self._ready = place / "ready"
        self.agent = agent_in(place, self, settings={"sandbox": {"default_policy": "none"}})
        self._script = ScriptedBackend([*self._first(where), says("done")])
        self._equip(self.agent)

    def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        """The model."""
        self.told.append(request)
        return self._script.stream_chat(request) if self._scripted(request) else self._hang()

    def alive(self) -> list[int]:
        """The processes of the run that still live, whoever their parent is."""
        return [process.pid for process in tree.marked(tree.table(), f"{TAG}={self._tag}".encode())]

    def expect_word(self, fifo: Path) -> None:
        """Count as arrived when a command writes to this pipe."""
        os.mkfifo(fifo)
        pipe = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)

        def heard() -> None:
            self._loop.remove_reader(pipe)
            os.close(pipe)
            self.arrived.set()

        self._loop.add_reader(pipe, heard)

    def _first(self, where: Where) -> list[FakeChatCall]:
        self._where = where
        if where == "model":
            return []
        if where != "processes":
            return [calls((where.replace(" ", "_"), {}))]
        self.expect_word(self._ready)
        command = "sleep 1000 & (sleep 1000 & setsid -f sleep 1000) & echo > ready; wait"
        return [calls(("shell_command", {"command": command, "env": self.environment}))]

    def _scripted(self, request: ChatRequest) -> bool:
        stuck, self._stuck = self._stuck, True
        return self._where != "model" or stuck

    async def _hang(self) -> AsyncIterator[ChatStreamEvent]:
        yield ChatStreamEvent(type="text_delta", text="well")
        self.arrived.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.left += 1

    def _equip(self, agent: Agent) -> None:
        agent.register_tool(Doing(self._wait, name="async_tool", effect="read"))

        @agent.tool(name="thread_tool")
        def wait(context: ToolContext) -> str:  # pyright: ignore[reportUnusedFunction]
            """Wait in a thread until somebody lets it go, and then report."""
            self._loop.call_soon_threadsafe(self.arrived.set)
            self.released.wait(30)
            try:
                context.emit(PlanUpdated(call_id=context.call_id, plan=[]))
            except BaseException as error:
                self.late.append(error)
                raise
            finally:
                self._loop.call_soon_threadsafe(self.thread_gone.set)
            return "waited"

    async def _wait(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        if self.arrived.is_set():
            return ToolResult(ok=True, stdout="at once")
        self.arrived.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.left += 1
        raise AssertionError
