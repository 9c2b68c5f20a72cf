"""Runs that are cancelled again while they end: they return when everything they began is gone, and not before."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import RunRequest
from skills_runtime.agent.loop.control import Control
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.events import Event
from skills_runtime.ports import ChatRequest, ChatStreamEvent, ToolContext, ToolResult
from skills_runtime.runs import verify_run
from skills_runtime.testing import InMemoryInbox
from tests.support.agents import Doing, Streaming, agent_in, calls, payloads_of

BOUND = 30
HURRIES = 5


class Place:
    """A parent and a sub-agent at work, whose tools hold on to something that is slow to let go."""

    def __init__(self, path: Path) -> None:
        self.busy, self.closing, self.released = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.closed = 0
        self._at_work = 0
        self.agent = agent_in(path, Streaming(self._stream))
        self.agent.register_tool(Doing(self._hold, name="hold"))

    async def aclose(self) -> None:
        """Let go, when the test says so."""
        self.closing.set()
        await self.released.wait()
        self.closed += 1

    async def _hold(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        context.scope.hold(Place, lambda: self)
        return ToolResult(ok=True)

    async def _stream(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        """Hold something, the parent begins a sub-agent besides, and then never answer."""
        of_parent = {"role": "user", "content": "parent"} in request.messages
        if request.answered == 0:
            begin = [("spawn_agent", {"message": "child"})] if of_parent else []
            for event in calls(("hold", {}), *begin).events:
                yield event
            return
        self._at_work += 1
        if self._at_work == 2:
            self.busy.set()
        await asyncio.Future()


async def _hurry(setup: Place, work: asyncio.Task[Any]) -> None:
    await asyncio.wait_for(setup.closing.wait(), BOUND)
    for _ in range(HURRIES):
        work.cancel()
        await asyncio.sleep(0)
    assert not work.done(), "something of it is still there"
    setup.released.set()
    with suppress(asyncio.CancelledError):
        await asyncio.wait_for(work, BOUND)
    assert setup.closed == 2


async def test_a_run_cancelled_twice_releases_its_sub_agents_and_tools(tmp_path: Path) -> None:
    setup = Place(tmp_path)
    work = asyncio.create_task(setup.agent.run_async("parent"))
    await asyncio.wait_for(setup.busy.wait(), BOUND)
    work.cancel()
    await _hurry(setup, work)


async def test_a_stream_that_is_left_in_a_hurry_ends_when_its_run_is_gone(tmp_path: Path) -> None:
    setup = Place(tmp_path)
    events = setup.agent.run_stream_async("parent")
    work = asyncio.create_task(_last(events))
    await asyncio.wait_for(setup.busy.wait(), BOUND)
    work.cancel()
    await _hurry(setup, work)


async def _last(events: AsyncGenerator[Event]) -> None:
    async for _ in events:
        pass


async def test_what_cannot_be_let_go_reaches_the_caller(tmp_path: Path) -> None:
    class Stuck:
        async def aclose(self) -> None:
            raise RuntimeError("it will not go")

    async def hold(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        context.scope.hold(Stuck, Stuck)
        return ToolResult(ok=True)

    agent = agent_in(tmp_path, [calls(("hold", {}))])
    agent.register_tool(Doing(hold, name="hold"))
    with pytest.raises(RuntimeError, match="it will not go"):
        await agent.run_async("Go.")


async def test_a_run_stopped_in_the_moment_it_starts_to_wait_is_shown_to_wait(tmp_path: Path) -> None:
    control, work = Control(), list[asyncio.Task[Any]]()
    control.stopping = True

    def stop(event: Event) -> None:
        if event.type == "run_waiting_human":
            work[0].cancel()

    script = [calls(("ask_human", {"question": "Which?"}))]
    agent = agent_in(tmp_path, script, inbox=InMemoryInbox(), hooks=[stop])
    run = agent.create(RunRequest(prompt="Go."))
    work.append(asyncio.create_task(agent.execute(run, control=control)))
    with pytest.raises(asyncio.CancelledError):
        await work[0]
    assert verify_run(run.paths.root, log_ports().keys).findings == []
    assert len(payloads_of(str(run.paths.events), "run_waiting_human")) == 1
