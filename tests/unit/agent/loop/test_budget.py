"""Budgets: what a run may use up, what happens when it has, and how it goes on with more."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import Agent, RunResult
from skills_runtime.agent.options import RunRequest
from skills_runtime.agent.run_inputs import run_spec
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.config import resolve
from skills_runtime.engine import RunControl
from skills_runtime.errors import ConfigError, LogEnded
from skills_runtime.llm import FakeChatCall
from skills_runtime.ports import ChatStreamEvent, ToolContext, ToolResult
from skills_runtime.runs import LogPorts, Run, create_run, open_run, read_view, runs_root
from skills_runtime.testing import FakeModel, FrozenClock, says
from skills_runtime.testing.inbox import InMemoryInbox
from tests.support.agents import Doing, agent_in, calls, events_of, payloads_of, succeed
from tests.support.events import check_request

RUN_ID = "run_1"
PRICES = [{"model": "scripted", "input": 1000.0, "output": 2000.0}]


def costing(call: FakeChatCall, input_tokens: int, output_tokens: int) -> FakeChatCall:
    """The answer with a bill."""
    *pieces, end = call.events
    usage = {"input_tokens": input_tokens, "output_tokens": output_tokens}
    return FakeChatCall([*pieces, ChatStreamEvent(type="completed", finish_reason=end.finish_reason, usage=usage)])


SCRIPT = [
    costing(calls(("do", {"n": 1})), 100, 10),
    costing(calls(("do", {"n": 2}), ("do", {"n": 3})), 100, 10),
    costing(says("done"), 100, 10),
]

LIMITS: dict[str, tuple[dict[str, Any], dict[str, Any], int]] = {
    "steps": ({"max_steps": 2}, {"max_steps": 3}, 2),
    "tool calls": ({"max_tool_calls": 2}, {"max_tool_calls": 3}, 2),
    "tokens": ({"max_tokens": 200}, {"max_tokens": 5000}, 1),
    "money": ({"max_cost_usd": 0.24}, {"max_cost_usd": 1.0}, 1),
}
"""A limit, one that is high enough, and how often the tool is called before the first is reached."""


def limited(
    directory: Path, tool: Doing, watched: FakeModel, limits: Mapping[str, Any], on_limit: str = "fail"
) -> Agent:
    settings = {"run": {**limits, "on_limit": on_limit}, "llm": {"prices": PRICES}}
    agent = agent_in(directory, watched, settings=settings)
    agent.register_tool(tool)
    return agent


@pytest.mark.parametrize("limit", LIMITS)
def test_a_run_that_reaches_a_limit_fails_and_says_which(tmp_path: Path, limit: str) -> None:
    low, _, times = LIMITS[limit]
    tool = Doing(succeed)
    result = limited(tmp_path, tool, FakeModel(SCRIPT), low).run("Go.")
    assert (result.status, result.error_kind, tool.times) == ("failed", "budget_exceeded", times)
    (failed,) = payloads_of(result.wal_locator, "run_failed")
    assert f"run.{next(iter(low))}" in failed.details["hint"]


@pytest.mark.parametrize("limit", LIMITS)
def test_a_run_parked_at_a_limit_continues_in_place_with_more(tmp_path: Path, limit: str) -> None:
    low, high, times = LIMITS[limit]
    tool, watched = Doing(succeed), FakeModel(SCRIPT)
    parked = limited(tmp_path, tool, watched, low, "park").run("Go.", run_id=RUN_ID)
    assert (parked.status, parked.error_kind, tool.times) == ("waiting_human", "budget_exceeded", times)
    assert f"run.{next(iter(low))}" in parked.final_output
    result = limited(tmp_path, tool, watched, high, "park").run("", run_id=RUN_ID)
    assert (result.status, result.final_output, tool.times) == ("completed", "done", 3)
    for request in watched.requests:
        check_request(request)


@pytest.mark.parametrize("limit", LIMITS)
def test_a_run_parked_at_a_limit_parks_again_without_more(tmp_path: Path, limit: str) -> None:
    low, _, times = LIMITS[limit]
    tool = Doing(succeed)
    for _ in range(3):
        parked = limited(tmp_path, tool, FakeModel(SCRIPT), low, "park").run("Go.", run_id=RUN_ID)
        assert (parked.status, parked.error_kind, tool.times) == ("waiting_human", "budget_exceeded", times)


@pytest.mark.parametrize("limit", LIMITS)
def test_a_run_that_ended_at_a_limit_continues_as_a_fork_with_more(tmp_path: Path, limit: str) -> None:
    low, high, _ = LIMITS[limit]
    tool, watched = Doing(succeed), FakeModel(SCRIPT)
    failed = limited(tmp_path, tool, watched, low).run("Go.", run_id=RUN_ID)
    agent = limited(tmp_path, tool, watched, high)
    with pytest.raises(LogEnded):
        agent.run("", run_id=RUN_ID)
    end = events_of(failed.wal_locator)[-1].seq
    result = asyncio.run(agent.execute(agent.fork(Path(failed.wal_locator).parent, end)))
    assert (result.status, result.final_output, tool.times) == ("completed", "done", 3)


def test_the_last_answer_counts_although_it_went_over_the_limit(tmp_path: Path) -> None:
    result = limited(tmp_path, Doing(succeed), FakeModel([costing(says("done"), 5000, 1)]), {"max_tokens": 10}).run(
        "Go."
    )
    assert (result.status, result.final_output) == ("completed", "done")


def test_what_a_run_cost_is_in_its_result(tmp_path: Path) -> None:
    result = limited(tmp_path, Doing(succeed), FakeModel(SCRIPT), {}).run("Go.")
    assert (result.input_tokens, result.output_tokens) == (300, 30)
    assert result.cost_usd == pytest.approx(0.36)  # pyright: ignore[reportUnknownMemberType]


def test_a_limit_on_money_without_prices_is_refused_and_leaves_no_run(tmp_path: Path) -> None:
    agent = agent_in(tmp_path, [says("x")], settings={"run": {"max_cost_usd": 1.0}})
    with pytest.raises(ConfigError, match=r"llm.prices|price of"):
        agent.run("Go.")
    assert not runs_root(tmp_path).exists()


class Segments:
    """Works on one run with a clock of its own, so that hours pass at once."""

    def __init__(self, directory: Path, script: list[FakeChatCall], tool: Doing) -> None:
        self.clock = FrozenClock()
        self.inbox = InMemoryInbox()
        self._place, self._script, self._tool = directory, script, tool
        self._ports = LogPorts(log_ports().keys, self.clock)

    def work(self, limits: Mapping[str, Any]) -> RunResult:
        """One segment."""
        settings = {"safety": {"mode": "allow"}, "run": {**limits, "on_limit": "park"}}
        agent = Agent(
            workspace_root=self._place, backend=FakeModel(self._script), session_settings=settings, inbox=self.inbox
        )
        agent.register_tool(self._tool)
        return asyncio.run(agent.execute(self._opened(settings)))

    @property
    def worked_sec(self) -> float:
        """How long all segments worked on the run."""
        return read_view(self._run.paths, self._ports).state.worked_sec

    def answer(self) -> None:
        """Somebody answers what the run asks."""
        RunControl(self.inbox, self._ports).answer(self._run.paths, "yes")

    def _opened(self, settings: Mapping[str, Any]) -> Run:
        root = runs_root(self._place) / RUN_ID
        if root.exists():
            self._run = open_run(root, self._ports)
        else:
            spec = run_spec(resolve(self._place, session_settings=settings), RunRequest(prompt="Go.", run_id=RUN_ID))
            self._run = create_run(spec, self._ports)
        return self._run


ASKING = [calls(("do", {})), calls(("ask_human", {"question": "Go on?"})), calls(("do", {})), says("done")]


def _slow(segments: list[Segments], seconds: float) -> Doing:
    async def work(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        segments[0].clock.advance(seconds)
        return ToolResult(ok=True)

    return Doing(work)


def _answered_run(directory: Path, seconds: float) -> tuple[Segments, Doing]:
    """A run that has worked for so long and waits for an answer, since days."""
    holder: list[Segments] = []
    tool = _slow(holder, seconds)
    holder.append(Segments(directory, ASKING, tool))
    assert holder[0].work({"max_wall_time_sec": 3600}).error_kind == "human_required"
    holder[0].clock.advance(1_000_000)
    holder[0].answer()
    return holder[0], tool


def test_the_time_a_run_waits_is_not_counted(tmp_path: Path) -> None:
    segments, tool = _answered_run(tmp_path, 600)
    assert segments.work({"max_wall_time_sec": 3600}).status == "completed"
    assert tool.times == 2


def test_the_time_of_earlier_segments_is_counted(tmp_path: Path) -> None:
    segments, tool = _answered_run(tmp_path, 600)
    assert 600 <= segments.worked_sec < 601
    assert segments.work({"max_wall_time_sec": 599}).error_kind == "budget_exceeded"
    assert segments.work({"max_wall_time_sec": 3600}).status == "completed"
    assert tool.times == 2


@pytest.mark.slow
def test_the_time_in_a_tool_that_was_stopped_by_the_limit_is_counted(tmp_path: Path) -> None:
    holder: list[Segments] = []

    async def work(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        holder[0].clock.advance(600)
        await asyncio.Event().wait()
        raise AssertionError

    holder.append(Segments(tmp_path, [calls(("do", {})), says("done")], Doing(work, effect="read")))
    parked = holder[0].work({"max_wall_time_sec": 1})
    assert (parked.status, parked.error_kind) == ("waiting_human", "budget_exceeded")
    assert holder[0].worked_sec >= 600
