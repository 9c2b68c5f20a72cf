"""Replays of forks and of runs that were given more: what came before, and what people gave, stays as it was."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import Agent, RunResult
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.engine import RunControl
from skills_runtime.engine.replay import Divergence, replay
from skills_runtime.errors import NotFound
from skills_runtime.runs import RunPaths
from skills_runtime.testing import InMemoryInbox, says
from tests.support.agents import Doing, Person, SmallWindow, agent_in, calls, events_of, payloads_of, succeed, writes

THREE_CALLS = [*(calls(("look", {"n": n}), ids=[f"call_{n}"]) for n in range(3)), says("done")]
NUMBERS = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


def looking(directory: Path, model: Any, settings: Mapping[str, Any], **people: Any) -> Agent:
    agent = agent_in(directory, model, settings=settings, **people)
    agent.register_tool(Doing(succeed, name="look"))
    return agent


def replayed(result: RunResult, agent: Agent) -> Divergence | None:
    return asyncio.run(replay(Path(result.wal_locator).parent, agent.resolved))


def forked(agent: Agent, parent: RunResult, after: str, prompt: str | None = None) -> RunResult:
    """A fork after the last event of a type, and what comes of it."""
    at = max(event.seq for event in events_of(parent.wal_locator) if event.type == after)
    return asyncio.run(agent.execute(agent.fork(Path(parent.wal_locator).parent, at, prompt=prompt)))


@pytest.mark.parametrize("limit", ["max_steps", "max_tool_calls"])
def test_a_run_that_waited_at_a_limit_and_was_given_more_is_replayed_with_that(tmp_path: Path, limit: str) -> None:
    few = looking(tmp_path, THREE_CALLS, {"run": {limit: 1, "on_limit": "park"}})
    assert few.run("Go.", run_id="run_1").error_kind == "budget_exceeded"
    result = looking(tmp_path, THREE_CALLS, {"run": {limit: 9, "on_limit": "park"}}).run("Go.", run_id="run_1")
    assert result.status == "completed"
    assert replayed(result, few) is None, "with the settings that it began with"


def test_a_limit_that_a_run_never_came_to_is_still_a_difference(tmp_path: Path) -> None:
    result = looking(tmp_path, THREE_CALLS, {}).run("Go.")
    divergence = replayed(result, looking(tmp_path, [], {"run": {"max_steps": 1}}))
    assert divergence is not None
    assert divergence.replayed == "end    failed budget_exceeded"


def test_steps_added_during_a_run_are_replayed(tmp_path: Path) -> None:
    recovery = {"mode": "ask_first", "increase_budget_extra_steps": 10}
    settings = {"run": {"max_steps": 2, "context_recovery": recovery}}
    person = Person("increase_budget_continue")
    agent = looking(tmp_path, SmallWindow(THREE_CALLS, refusals=[2]), settings, human=person)
    result = agent.run("Go.")
    assert result.status == "completed"
    assert replayed(result, agent) is None


def test_a_fork_with_other_rules_is_replayed_with_what_its_parent_was_allowed(tmp_path: Path) -> None:
    script = [calls(writes("a", "b")), says("done"), says("more")]
    parent = agent_in(tmp_path, script).run("Go.")
    agent = agent_in(tmp_path, script, settings={"safety": {"mode": "allow", "tool_denylist": ["file_write"]}})
    fork = forked(agent, parent, "run_completed", "And now?")
    assert fork.status == "completed"
    assert replayed(fork, agent) is None


@pytest.mark.parametrize("prompt", [None, "And now?"])
def test_a_fork_after_an_answer_was_rejected_is_replayed_in_the_order_of_things(
    tmp_path: Path, prompt: str | None
) -> None:
    agent = agent_in(tmp_path, [says("no"), says('{"a": 1}')], settings={"run": {"output_schema": NUMBERS}})
    fork = forked(agent, agent.run("Go."), "output_rejected", prompt)
    assert fork.status == "completed"
    assert replayed(fork, agent) is None


def test_a_message_after_a_rejected_answer_is_replayed_after_it(tmp_path: Path) -> None:
    inbox = InMemoryInbox()

    def speak(event: Any) -> None:
        if event.type == "output_rejected":
            inbox.send("run_1", "steer", {"text": "a number, please"})

    settings = {"run": {"output_schema": NUMBERS}}
    agent = agent_in(tmp_path, [says("no"), says('{"a": 1}')], settings=settings, inbox=inbox, hooks=[speak])
    result = agent.run("Go.", run_id="run_1")
    assert result.output == {"a": 1}
    assert replayed(result, agent) is None


def test_a_fork_in_the_middle_of_a_call_is_replayed_with_what_came_of_it(tmp_path: Path) -> None:
    agent = looking(tmp_path, THREE_CALLS, {})
    fork = forked(agent, agent.run("Go."), "tool_call_started")
    (payload,) = payloads_of(fork.wal_locator, "tool_call_finished")
    assert payload.result["stderr"].startswith("outcome unknown")
    assert replayed(fork, agent) is None


def test_a_fork_of_a_run_that_asked_what_to_do_is_replayed_with_the_answer(tmp_path: Path) -> None:
    inbox = InMemoryInbox()
    settings = {"run": {"context_recovery": {"mode": "ask_first", "compaction_keep_last_messages": 2}}}
    model = SmallWindow(THREE_CALLS, refusals=[2])
    agent = looking(tmp_path, model, settings, inbox=inbox)
    parent = agent.run("Go.", run_id="parent")
    fork = forked(agent, parent, "run_waiting_human")
    assert (parent.status, fork.status) == ("waiting_human", "waiting_human")
    paths = RunPaths(Path(fork.wal_locator).parent)
    RunControl(inbox, log_ports()).answer(paths, "compact_continue")
    result = asyncio.run(agent.execute(agent.resume(paths.root)))
    assert result.status == "completed"
    assert replayed(result, agent) is None


@pytest.mark.parametrize("prompt", [None, "And now?"])
async def test_a_fork_cancelled_before_its_first_segment_has_nothing_to_replay(
    tmp_path: Path, prompt: str | None
) -> None:
    agent, inbox = agent_in(tmp_path, [says("done"), says("more")]), InMemoryInbox()
    parent = await agent.run_async("Go.")
    fork = agent.fork(Path(parent.wal_locator).parent, 0, prompt=prompt)
    fork.close()
    desk = RunControl(inbox, log_ports())
    desk.send(fork.paths, "Hurry.")
    desk.cancel(fork.paths)
    assert await replay(fork.paths.root, agent.resolved) is None


def test_a_fork_whose_parent_is_gone_cannot_be_replayed_and_says_so(tmp_path: Path) -> None:
    agent = agent_in(tmp_path, [says("done"), says("more")])
    parent = agent.run("Go.")
    fork = forked(agent, parent, "run_completed", "And now?")
    Path(parent.wal_locator).parent.rename(tmp_path / "elsewhere")
    with pytest.raises(NotFound, match="is no longer at"):
        replayed(fork, agent)


async def test_a_call_beside_one_that_still_waits_is_replayed_although_its_tool_is_not_here(tmp_path: Path) -> None:
    script = [calls(("ask_human", {"question": "Which?"}), ("look", {})), says("done")]
    agent = agent_in(tmp_path, script, inbox=InMemoryInbox())
    agent.register_tool(Doing(succeed, name="look", effect="read"))
    result = await agent.run_async("Go.")
    assert result.status == "waiting_human"
    assert len(payloads_of(result.wal_locator, "tool_call_finished")) == 1
    assert await replay(Path(result.wal_locator).parent, agent.resolved) is None
