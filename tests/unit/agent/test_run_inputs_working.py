"""Runs that are worked on at once, and runs of one agent: what they share, and what each has to itself."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent.options import AgentOptions, RunRequest
from skills_runtime.agent.run_inputs import RUNNING
from skills_runtime.agent.run_ports import build_gate
from skills_runtime.events import Event
from skills_runtime.ports import Effect
from skills_runtime.runs import read_record, runs_root
from skills_runtime.safety import Rules
from skills_runtime.safety.policy import Allow
from skills_runtime.testing import says
from skills_runtime.tools import builtin_tools
from tests.support.agents import Doing, agent_in, calls, events_of, payloads_of, succeed


def answers() -> list[Any]:
    return [says("done")] * 2


def test_a_run_that_is_worked_on_at_once_is_never_seen_pending(tmp_path: Path) -> None:
    statuses = list[str]()

    def hook(event: Event) -> None:
        statuses.append(read_record(runs_root(tmp_path) / "run_1" / "run.json").status)

    agent_in(tmp_path, answers(), hooks=[hook]).run("Go.", run_id="run_1")
    assert set(statuses) == {"running"}


def test_a_created_run_is_pending_until_it_is_started(tmp_path: Path) -> None:
    agent = agent_in(tmp_path, answers())
    run = agent.create(RunRequest(prompt="Go.", run_id="run_1"))
    assert read_record(run.paths.run_json).status == "pending"
    result = asyncio.run(agent.execute(run))
    assert payloads_of(result.wal_locator, "run_state_changed") == [RUNNING]


async def test_a_stream_starts_with_the_event_that_work_has_started(tmp_path: Path) -> None:
    agent = agent_in(tmp_path, answers())
    types = [event.type async for event in agent.run_stream_async("Go.")]
    assert types[:2] == ["run_state_changed", "run_started"]


def test_hooks_receive_the_start_event_once(tmp_path: Path) -> None:
    events = list[Event]()
    result = agent_in(tmp_path, answers(), hooks=[events.append]).run("Go.")
    assert events == events_of(result.wal_locator)[2:]


def test_a_run_killed_before_its_first_event_of_work_starts_as_a_new_one(tmp_path: Path) -> None:
    agent = agent_in(tmp_path, answers())
    agent.create(RunRequest(prompt="Go.", run_id="run_1"), working=True).close()
    result = agent.run("", run_id="run_1")
    assert [payload.resume["enabled"] for payload in payloads_of(result.wal_locator, "run_started")] == [False]
    assert payloads_of(result.wal_locator, "run_state_changed") == [RUNNING]


@pytest.mark.parametrize(("effect", "status"), [("read", "completed"), ("effectful", "failed")])
def test_a_tool_that_takes_the_place_of_another_is_judged_by_its_own_effect(
    tmp_path: Path, effect: Effect, status: str
) -> None:
    agent = agent_in(tmp_path, [calls(("do", {})), says("done")] * 2, mode="ask")
    agent.register_tool(Doing(succeed, effect="read"))
    assert agent.run("Go.").status == "completed"
    agent.register_tool(Doing(succeed, effect=effect), override=True)
    assert agent.run("Go.").status == status


def test_what_is_known_of_tools_is_shared_only_by_runs_in_their_workspace(tmp_path: Path) -> None:
    """One that lies elsewhere may lie above it, and then no tool may do anything there."""
    (tmp_path / "place").mkdir()
    agent = agent_in(tmp_path / "place", answers())
    options = AgentOptions(tools=builtin_tools(), rules=Rules(), decision_cache={("do", "read", None): Allow("known")})
    for request, cache in (
        (RunRequest(prompt="Go."), options.decision_cache),
        (RunRequest(prompt="Go.", sandbox_path=tmp_path / "elsewhere"), {}),
    ):
        run = agent.create(request)
        assert build_gate(run, agent.resolved, options, "shared").decision_cache == cache
        run.close()
