"""Sub-agents that nobody works on when the run that began them ends: they end with it, as those at work do."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from skills_runtime.agent import RunRequest
from skills_runtime.agent.loop.control import Control
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.engine import RunControl
from skills_runtime.events.payloads import ChildRunStarted
from skills_runtime.ports import ChatRequest, ChatStreamEvent
from skills_runtime.projections import RunState
from skills_runtime.runs import RunPaths, read_view, runs_root, verify_run
from skills_runtime.testing import InMemoryInbox, says
from tests.support.agents import Streaming, agent_in, calls, payloads_of

BOUND = 30


class Line:
    """A model that begins a sub-agent, which begins another, and never says more, unless it is told to end."""

    def __init__(self, *, ends: bool = False) -> None:
        self.busy = asyncio.Event()
        self._ends = ends

    async def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        """Answer the one that asks by its task."""
        task = next(str(message["content"]) for message in request.messages if message["role"] == "user")
        below = {"parent": "child", "child": "grandchild"}.get(task)
        if self._ends:
            call = says("done")
        elif request.answered == 0 and below is not None:
            call = calls(("spawn_agent", {"message": below}))
        else:
            if task == "grandchild":
                self.busy.set()
            await asyncio.Future()
            raise AssertionError
        for event in call.events:
            yield event


async def stopped_family(directory: Path) -> list[RunPaths]:
    """A run, its sub-agent and that one's, all stopped at work."""
    model, control = Line(), Control()
    agent = agent_in(directory, model)
    run = agent.create(RunRequest(prompt="parent", run_id="parent"))
    work = asyncio.create_task(agent.execute(run, control=control))
    await asyncio.wait_for(model.busy.wait(), BOUND)
    control.stopping = True
    work.cancel()
    with suppress(asyncio.CancelledError):
        await work
    family = sorted((RunPaths(root) for root in runs_root(directory).iterdir()), key=lambda paths: len(paths.root.name))
    assert [state_of(paths).status for paths in family] == ["waiting_for_user"] * 3
    return family


def state_of(paths: RunPaths) -> RunState:
    return read_view(paths, log_ports()).state


async def test_they_end_with_a_run_that_was_resumed_and_did_not_wait_for_them(tmp_path: Path) -> None:
    family = await stopped_family(tmp_path)
    result = await agent_in(tmp_path, Line(ends=True)).run_async("", run_id="parent")
    assert result.status == "completed"
    assert [state_of(paths).status for paths in family] == ["completed", "cancelled", "cancelled"]
    assert state_of(family[1]).failure_reason == "its parent run has ended"
    assert [verify_run(paths.root, log_ports().keys).findings for paths in family] == [[], [], []]


async def test_they_end_with_a_run_that_is_cancelled_while_it_has_no_process(tmp_path: Path) -> None:
    family, inbox = await stopped_family(tmp_path), InMemoryInbox()
    desk = RunControl(inbox, log_ports())
    desk.send(family[2], "Hurry.")
    desk.cancel(family[0])
    assert [state_of(paths).status for paths in family] == ["cancelled"] * 3
    (payload,) = payloads_of(str(family[2].events), "inbox_received")
    assert payload.body == {"text": "Hurry."}, "what was said to them is not lost"


async def test_they_end_with_a_run_that_is_cancelled_before_its_work_has_started(tmp_path: Path) -> None:
    family = await stopped_family(tmp_path)
    agent = agent_in(tmp_path, Line(ends=True))
    work = asyncio.create_task(agent.execute(agent.resume(family[0].root)))
    await asyncio.sleep(0)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert [state_of(paths).status for paths in family] == ["cancelled"] * 3


async def test_a_run_that_another_one_only_names_is_left_alone(tmp_path: Path) -> None:
    agent = agent_in(tmp_path, Streaming(Line(ends=True).stream_chat))
    stranger = agent.create(RunRequest(prompt="mine", run_id="stranger"))
    stranger.close()
    run = agent.create(RunRequest(prompt="parent", run_id="parent"))
    run.append(ChildRunStarted(call_id="c", child_run_id="stranger", root=str(stranger.paths.root)))
    assert (await agent.execute(run)).status == "completed"
    assert state_of(stranger.paths).status == "pending"
