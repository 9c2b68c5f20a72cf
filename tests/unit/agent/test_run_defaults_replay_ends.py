"""Replays of runs that somebody, a clock or a service ended: what the recording cannot tell is no difference."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import Agent
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.engine import RunControl
from skills_runtime.engine.replay import replay
from skills_runtime.errors import ModelError
from skills_runtime.llm import FakeChatCall, ScriptedBackend
from skills_runtime.ports import ChatRequest, ChatStreamEvent, ToolContext, ToolResult
from skills_runtime.projections import Actions, fold
from skills_runtime.runs import RunPaths, runs_root, whole_history
from skills_runtime.testing import says
from skills_runtime.testing.inbox import InMemoryInbox
from tests.support.agents import Doing, Streaming, agent_in, calls, events_of, writes

USAGE = {"input_tokens": 100, "output_tokens": 50}


async def hang(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
    return await asyncio.Future[ToolResult]()


async def refuses_the_key(request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
    raise ModelError("no such key", kind="auth_error")
    yield  # pyright: ignore[reportUnreachable] - this makes it a stream


async def breaks(request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
    raise RuntimeError("broken")
    yield  # pyright: ignore[reportUnreachable] - this makes it a stream


def costly() -> FakeChatCall:
    """An answer with a call, and what it used."""
    *events, _ = calls(writes("a", "b")).events
    return FakeChatCall([*events, ChatStreamEvent(type="completed", finish_reason="tool_calls", usage=USAGE)])


def cancelled(directory: Path) -> Agent:
    seen: list[str] = []
    agent = Agent(
        workspace_root=directory,
        backend=ScriptedBackend([calls(("do", {})), says("done")]),
        session_settings={"safety": {"mode": "allow"}},
        event_hooks=[lambda event: seen.append(event.type)],
        cancel_checker=lambda: "tool_call_started" in seen,
    )
    agent.register_tool(Doing(hang))
    return agent


def out_of_time(directory: Path) -> Agent:
    agent = agent_in(directory, [calls(("do", {})), says("done")], settings={"run": {"max_wall_time_sec": 1}})
    agent.register_tool(Doing(hang))
    return agent


def agents(directory: Path) -> dict[str, Agent]:
    """Agents whose runs end in ways that their logs name and do not explain."""
    return {
        "cancelled": cancelled(directory),
        "out of time": out_of_time(directory),
        "out of tokens": agent_in(directory, [costly(), says("done")], settings={"run": {"max_tokens": 120}}),
        "refused by the service": agent_in(directory, Streaming(refuses_the_key)),
        "broken by the service": agent_in(directory, Streaming(breaks)),
        "nobody to ask": agent_in(directory, [calls(writes("a", "b")), says("done")], mode="ask"),
    }


@pytest.mark.parametrize("how", agents(Path()))
async def test_a_run_that_was_ended_from_outside_is_replayed_as_far_as_it_went(tmp_path: Path, how: str) -> None:
    agent = agents(tmp_path)[how]
    result = await agent.run_async("Go.")
    assert result.status != "completed"
    assert await replay(Path(result.wal_locator).parent, agent.resolved) is None


async def test_a_limit_that_the_loop_counts_is_still_a_difference(tmp_path: Path) -> None:
    script = [calls(writes("a", "b"), writes("c", "d")), says("done")]
    result = await agent_in(tmp_path, script, settings={"run": {"max_steps": 1}}).run_async("Go.")
    now = agent_in(tmp_path, [], settings={"run": {"max_steps": 9}})
    assert result.error_kind == "budget_exceeded"
    assert await replay(Path(result.wal_locator).parent, now.resolved) is not None


async def test_a_tool_that_was_not_there_is_not_there_in_the_replay(tmp_path: Path) -> None:
    agent = agent_in(tmp_path, [calls(("nowhere", "{broken")), says("done")])
    result = await agent.run_async("Go.")
    assert await replay(Path(result.wal_locator).parent, agent.resolved) is None


async def test_a_replay_leaves_nothing_in_the_workspace_and_conflicts_with_no_run(
    tmp_path: Path,
) -> None:
    agent = agent_in(tmp_path, [says("done")])
    result = await agent.run_async("Go.", run_id="run")
    before = sorted(runs_root(tmp_path).iterdir())
    assert await replay(Path(result.wal_locator).parent, agent.resolved) is None
    assert sorted(runs_root(tmp_path).iterdir()) == before


async def test_a_run_that_was_approved_is_replayed_as_far_as_its_review(tmp_path: Path) -> None:
    agent = agent_in(tmp_path, [says("a draft")], settings={"run": {"review": "required"}})
    paths = RunPaths(Path((await agent.run_async("Go.")).wal_locator).parent)
    assert RunControl(InMemoryInbox(), log_ports()).approve(paths) == "completed"
    assert await replay(paths.root, agent.resolved) is None


async def test_a_fork_that_went_on_from_an_end_has_no_end_before_its_own(tmp_path: Path) -> None:
    script = [calls(writes("a", "b"), ("ask_human", {"question": "Which?"})), says("done")]
    failed = await agent_in(tmp_path, script, settings={"run": {"max_steps": 1}}).run_async("Go.")
    agent = agent_in(tmp_path, script)
    end = events_of(failed.wal_locator)[-1].seq
    result = await agent.execute(agent.fork(Path(failed.wal_locator).parent, end))
    assert (failed.error_kind, result.status) == ("budget_exceeded", "waiting_human")
    assert fold(whole_history(RunPaths(Path(result.wal_locator).parent)), Actions()).end == ""
    assert await replay(Path(result.wal_locator).parent, agent.resolved) is None


QUESTION = ("ask_human", {"question": "Which?"})


@pytest.mark.parametrize("answered", [True, False])
async def test_results_before_a_pending_answer_are_no_difference(tmp_path: Path, *, answered: bool) -> None:
    (tmp_path / "a").write_text("b")
    inbox = InMemoryInbox()
    agent = agent_in(tmp_path, [calls(QUESTION, ("file_read", {"path": "a"})), says("done")], inbox=inbox)
    result = await agent.run_async("Go.", run_id="run_1")
    if answered:
        inbox.send("run_1", "answer", {"answer": "blue"})
        result = await agent.run_async("", run_id="run_1")
    assert result.status == ("completed" if answered else "waiting_human")
    assert await replay(Path(result.wal_locator).parent, agent.resolved) is None


async def test_a_fork_with_another_task_before_the_first_answer_is_replayed_with_that_task(tmp_path: Path) -> None:
    agent = agent_in(tmp_path, [says("done")])
    parent = await agent.run_async("Go.")
    begun = next(event.seq for event in events_of(parent.wal_locator) if event.type == "run_started")
    fork = await agent.execute(agent.fork(Path(parent.wal_locator).parent, begun, prompt="Something else."))
    assert await replay(Path(fork.wal_locator).parent, agent.resolved) is None
