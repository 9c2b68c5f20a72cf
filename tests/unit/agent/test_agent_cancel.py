"""Cancel and stop reach whatever a run is doing, and return when it is gone."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import Agent
from skills_runtime.agent.loop.control import Control
from skills_runtime.agent.options import RunRequest
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.events import Event
from skills_runtime.llm import ScriptedBackend
from skills_runtime.ports import ChatRequest, ChatStreamEvent, ToolContext, ToolResult
from skills_runtime.processes.launcher import dismiss
from skills_runtime.runs import RunPaths, read_events, read_record, runs_root, verify_run
from skills_runtime.testing import says
from tests.support.agents import Doing, Streaming, agent_in, calls, events_of
from tests.support.crashes import PLACES, Hanging, Where

BOUND = 20
"""Seconds after which something hangs; what is measured here takes a fraction of one."""
RUN_ID = "run_1"


@pytest.fixture(autouse=True, scope="module")
def no_launcher_left() -> Iterator[None]:
    yield
    dismiss()


async def _interrupted(hanging: Hanging, control: Control) -> RunPaths:
    """Interrupt the run where it hangs, and return once that is done."""
    run = hanging.agent.create(RunRequest(prompt="Go.", run_id=RUN_ID))
    task = asyncio.create_task(hanging.agent.execute(run, control=control))
    await asyncio.wait_for(hanging.arrived.wait(), BOUND)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, BOUND)
    return run.paths


async def _thread_ends(hanging: Hanging, where: Where) -> None:
    """Let the thread go that nobody could end, and wait for it."""
    hanging.released.set()
    if where == "thread tool":
        await asyncio.wait_for(hanging.thread_gone.wait(), BOUND)


@pytest.mark.parametrize("where", PLACES)
async def test_a_cancelled_run_is_cancelled_and_leaves_nothing_behind(tmp_path: Path, where: Where) -> None:
    hanging = Hanging(tmp_path, where)
    paths = await _interrupted(hanging, Control())
    if where in ("model", "async tool"):
        assert hanging.left == 1
    assert hanging.alive() == []
    log = paths.events.read_bytes()
    assert [event.type for event in read_events(paths)][-2:] == ["artifact_manifest_written", "run_cancelled"]
    assert read_record(paths.run_json).status == "cancelled"
    await _thread_ends(hanging, where)
    assert paths.events.read_bytes() == log, "nothing follows the end"
    assert verify_run(paths.root, log_ports().keys).findings == []


async def test_a_thread_that_reports_too_late_is_refused(tmp_path: Path) -> None:
    hanging = Hanging(tmp_path, "thread tool")
    await _interrupted(hanging, Control())
    await _thread_ends(hanging, "thread tool")
    assert len(hanging.late) == 1


@pytest.mark.parametrize("where", PLACES)
async def test_a_stopped_run_waits_and_continues_to_its_end(tmp_path: Path, where: Where) -> None:
    hanging, control = Hanging(tmp_path, where), Control()
    control.stopping = True
    paths = await _interrupted(hanging, control)
    assert hanging.alive() == []
    last: Any = list(read_events(paths))[-1].payload
    assert (last.event_type, last.error_kind) == ("run_waiting_human", "stopped")
    assert read_record(paths.run_json).status == "waiting_for_user"
    await _thread_ends(hanging, where)
    result = await asyncio.wait_for(hanging.agent.run_async("", run_id=RUN_ID), BOUND)
    assert (result.status, result.final_output) == ("completed", "done")
    results = [json.loads(message["content"]) for message in hanging.told[-1].messages if message["role"] == "tool"]
    if where == "async tool":
        assert [payload["stdout"] for payload in results] == ["at once"], "what only reads is done again"
    elif where != "model":
        assert [payload["stderr"][:15] for payload in results] == ["outcome unknown"], (
            "an effect that began is not repeated"
        )
    assert verify_run(paths.root, log_ports().keys).findings == []


async def test_a_run_cancelled_twice_still_ends_only_when_its_tool_has_let_go(tmp_path: Path) -> None:
    started, cancel_requested, released = asyncio.Event(), asyncio.Event(), asyncio.Event()
    order: list[str] = []

    async def slow_to_leave(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancel_requested.set()
            await released.wait()
            order.append("tool gone")
        raise AssertionError

    def listen(event: Event) -> None:
        if event.type == "run_cancelled":
            order.append("run ended")

    agent = agent_in(tmp_path, [calls(("do", {})), says("x")], hooks=[listen])
    agent.register_tool(Doing(slow_to_leave))
    task = asyncio.create_task(agent.run_async("Go.", run_id=RUN_ID))
    await asyncio.wait_for(started.wait(), BOUND)
    task.cancel()
    await asyncio.wait_for(cancel_requested.wait(), BOUND)
    task.cancel()
    for _ in range(5):
        await asyncio.sleep(0)
    released.set()
    with suppress(asyncio.CancelledError):
        await asyncio.wait_for(task, BOUND)
    assert order == ["tool gone", "run ended"]


async def test_processes_that_do_not_want_to_end_are_gone_when_the_run_is(tmp_path: Path) -> None:
    hanging = Hanging(tmp_path, "processes")
    stubborn = "trap '' TERM HUP INT; (trap '' TERM; sleep 1000) & echo > ready; while :; do sleep 0.05; done"
    run = hanging.agent.create(RunRequest(prompt="Go.", run_id=RUN_ID))
    first = [calls(("shell_command", {"command": stubborn, "env": hanging.environment}))]
    agent = agent_in(tmp_path, [*first, says("x")], settings={"sandbox": {"default_policy": "none"}})
    task = asyncio.create_task(agent.execute(run))
    await asyncio.wait_for(hanging.arrived.wait(), BOUND)
    assert hanging.alive() != []
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, BOUND)
    assert hanging.alive() == []


async def _forever() -> ToolResult:
    await asyncio.Event().wait()
    raise AssertionError


async def test_calls_in_parallel_are_all_told_to_stop(tmp_path: Path) -> None:
    inside, meeting = 0, asyncio.Barrier(6)

    async def wait(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        nonlocal inside
        inside += 1
        try:
            await meeting.wait()
            return await _forever()
        finally:
            inside -= 1

    agent = agent_in(tmp_path, [calls(*(("do", {"n": n}) for n in range(5))), says("x")])
    agent.register_tool(Doing(wait, effect="read"))
    task = asyncio.create_task(agent.run_async("Go.", run_id=RUN_ID))
    await asyncio.wait_for(meeting.wait(), BOUND)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, BOUND)
    assert inside == 0


def test_a_caller_s_own_wish_to_stop_ends_the_run_as_cancelled(tmp_path: Path) -> None:
    reached = False

    async def wait(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        nonlocal reached
        reached = True
        return await _forever()

    agent = Agent(
        workspace_root=tmp_path,
        backend=ScriptedBackend([calls(("do", {})), says("x")]),
        session_settings={"safety": {"mode": "allow"}},
        cancel_checker=lambda: reached,
    )
    agent.register_tool(Doing(wait))
    result = agent.run("Go.", run_id=RUN_ID)
    assert (result.status, result.run_id) == ("cancelled", RUN_ID)
    assert read_record(runs_root(tmp_path) / RUN_ID / "run.json").status == "cancelled"


async def test_closing_the_stream_early_cancels_the_run(tmp_path: Path) -> None:
    gone = False

    async def hang(request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        nonlocal gone
        try:
            yield ChatStreamEvent(type="text_delta", text="x" * 5000)
            await asyncio.Event().wait()
        finally:
            gone = True

    events = agent_in(tmp_path, Streaming(hang)).run_stream_async("Go.", run_id=RUN_ID)
    async for event in events:
        if event.type == "llm_response_delta":
            break
    await asyncio.wait_for(events.aclose(), BOUND)
    assert gone
    assert events_of(str(runs_root(tmp_path) / RUN_ID / "events.jsonl"))[-1].type == "run_cancelled"
