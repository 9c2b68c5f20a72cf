"""Sub-agents that work at the same time spend out of one purse: together they get what their parent has, not more."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import Agent
from skills_runtime.agent.loop.control import Control
from skills_runtime.agent.options import RunRequest
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.engine.replay import replay
from skills_runtime.llm import FakeChatCall
from skills_runtime.ports import ChatRequest, ChatStreamEvent
from skills_runtime.projections import RunView
from skills_runtime.runs import RunPaths, read_view, runs_root
from skills_runtime.testing import says
from tests.support.agents import Streaming, agent_in, calls, payloads_of

PARENT = "parent"
PRICES = [{"model": "executor", "input": 1000.0, "output": 0.0}, {"model": "planner", "input": 1000.0, "output": 0.0}]
"""Of a million tokens; so each answer costs a cent."""
ANSWER = 10
"""The tokens of one answer of a child."""
LOOK = ("list_dir", {"dir_path": "."})


class Brood:
    """A model: tasks that begin others wait for them and go on, the rest look around until they are stopped."""

    def __init__(self, tasks: Mapping[str, list[str]], *, last: int | None = None) -> None:
        self._tasks = tasks
        self._last = last
        self.asked = 0
        self.stop_at: int | None = None
        self.arrived = asyncio.Event()
        self._absent = {text for task in tasks.values() for text in task} - tasks.keys()
        self._all_there = asyncio.Event()

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        """The next answer for the task; the others get their turns in between."""
        task = next(str(message["content"]) for message in request.messages if message["role"] == "user")
        await asyncio.sleep(0)
        answer = self._beginning(request, task) if request.answered < 2 and task in self._tasks else None
        if answer is None:
            answer = await self._looking(request, task)
        for event in answer.events:
            yield event

    def _beginning(self, request: ChatRequest, task: str) -> FakeChatCall:
        if not request.answered:
            return calls(*(("spawn_agent", {"message": text}) for text in self._tasks[task]))
        results = [str(message["content"]) for message in request.messages if message["role"] == "tool"]
        return calls(("wait", {"ids": [text.split('"id":"')[1].split('"')[0] for text in results]}))

    async def _looking(self, request: ChatRequest, task: str) -> FakeChatCall:
        """Look around, once all that are begun to do so are there."""
        self._absent.discard(task)
        if not self._absent:
            self._all_there.set()
        if task not in self._tasks:
            await self._all_there.wait()
        self.asked += 1
        if self.stop_at is not None and self.asked >= self.stop_at:
            self.arrived.set()
            await asyncio.Event().wait()
        usage = {"input_tokens": ANSWER, "output_tokens": 0}
        if task not in self._tasks and self._last is not None and request.answered >= self._last:
            return says("done", usage=usage)
        *pieces, end = calls(LOOK, ids=[f"look_{request.answered}"]).events
        return FakeChatCall([*pieces, ChatStreamEvent(type=end.type, finish_reason=end.finish_reason, usage=usage)])


def _agent(directory: Path, brood: Brood, limits: Mapping[str, Any]) -> Agent:
    models = {"models": {"planner": "planner", "executor": "executor"}, "llm": {"prices": PRICES}}
    return agent_in(directory, Streaming(brood.stream), settings={"run": {"max_steps": 500, **limits}, **models})


def _views(directory: Path) -> dict[str, RunView]:
    """Every run of the family by its task."""
    views = [read_view(RunPaths(root), log_ports()) for root in runs_root(directory).iterdir()]
    return {view.state.task: view for view in views}


def _tokens(views: Mapping[str, RunView]) -> int:
    return sum(view.state.input_tokens + view.state.output_tokens for view in views.values())


def _ends(views: Mapping[str, RunView]) -> set[tuple[str, str | None]]:
    return {(view.state.status.value, view.state.error_kind) for view in views.values()}


OVER = {("failed", "budget_exceeded")}


def _children(count: int) -> dict[str, list[str]]:
    return {PARENT: [f"child {number}" for number in range(count)]}


NESTED = {PARENT: ["nest 0", "nest 1"], "nest 0": ["leaf 0", "leaf 1"], "nest 1": ["leaf 2", "leaf 3"]}
FAMILIES = {"two": _children(2), "five": _children(5), "nested": NESTED}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("limits", [{"max_tokens": 300}, {"max_cost_usd": 0.3}], ids=["tokens", "money"])
def test_children_in_parallel_get_together_what_their_parent_has(
    tmp_path: Path, family: str, limits: Mapping[str, Any]
) -> None:
    tasks = FAMILIES[family]
    result = _agent(tmp_path, Brood(tasks), limits).run(PARENT, run_id=PARENT)
    views = _views(tmp_path)
    assert len(views) == 1 + sum(map(len, tasks.values()))
    assert _ends(views) == OVER
    assert 300 <= _tokens(views) <= 300 + len(views) * ANSWER
    assert (result.status, result.error_kind) == ("failed", "budget_exceeded")


@pytest.mark.parametrize("family", FAMILIES)
def test_no_more_calls_are_made_together_than_the_parent_may_make(tmp_path: Path, family: str) -> None:
    _agent(tmp_path, Brood(FAMILIES[family]), {"max_tool_calls": 40}).run(PARENT, run_id=PARENT)
    views = _views(tmp_path)
    assert 30 <= sum(view.conversation.finished_calls for view in views.values()) <= 40
    assert _ends(views) == OVER


@pytest.mark.parametrize("family", FAMILIES)
def test_the_log_of_the_parent_tells_what_all_below_it_have_used(tmp_path: Path, family: str) -> None:
    result = _agent(tmp_path, Brood(FAMILIES[family]), {"max_tokens": 300}).run(PARENT, run_id=PARENT)
    views = _views(tmp_path)
    state = views[PARENT].state
    assert state.input_tokens + state.output_tokens + state.child_tokens == _tokens(views)
    assert result.cost_usd == pytest.approx(_tokens(views) / 1000)  # pyright: ignore[reportUnknownMemberType]


def test_the_reason_tells_that_others_have_used_the_budget_too(tmp_path: Path) -> None:
    _agent(tmp_path, Brood(_children(2)), {"max_tokens": 300}).run(PARENT, run_id=PARENT)
    (failed,) = payloads_of(str(_paths(tmp_path, "child 0").events), "run_failed")
    assert "the run and those that share its budget have used 3" in failed.message
    assert failed.details["hint"] == "raise `run.max_tokens`"


def _paths(directory: Path, task: str) -> RunPaths:
    return RunPaths(runs_root(directory) / _views(directory)[task].state.run_id)


@pytest.mark.parametrize("family", FAMILIES)
async def test_a_family_that_was_stopped_and_resumed_gets_no_more_than_one_that_was_not(
    tmp_path: Path, family: str
) -> None:
    brood = Brood(FAMILIES[family])
    brood.stop_at = 12
    agent, control = _agent(tmp_path, brood, {"max_tokens": 300}), Control()
    run = agent.create(RunRequest(prompt=PARENT, run_id=PARENT))
    work = asyncio.create_task(agent.execute(run, control=control))
    await brood.arrived.wait()
    control.stopping = True
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert _tokens(_views(tmp_path)) > 0
    await _agent(tmp_path, Brood(FAMILIES[family]), {"max_tokens": 300}).run_async("", run_id=PARENT)
    views = _views(tmp_path)
    assert _ends(views) == OVER
    assert 300 <= _tokens(views) <= 300 + len(views) * ANSWER


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_that_waits_for_more_budget_gets_that_and_no_more(tmp_path: Path, family: str) -> None:
    brood = Brood(FAMILIES[family])
    parked = _agent(tmp_path, brood, {"max_tokens": 300, "on_limit": "park"}).run(PARENT, run_id=PARENT)
    assert (parked.status, parked.error_kind) == ("waiting_human", "budget_exceeded")
    _agent(tmp_path, brood, {"max_tokens": 600}).run("", run_id=PARENT)
    views = _views(tmp_path)
    assert (views[PARENT].state.status.value, views[PARENT].state.error_kind) == ("failed", "budget_exceeded")
    assert 600 <= _tokens(views) <= 600 + len(views) * ANSWER


def test_usage_of_children_counts_although_the_process_died_before_recording_it(tmp_path: Path) -> None:
    tasks = _children(2)
    result = _agent(tmp_path, Brood(tasks, last=9), {"max_tokens": 300}).run(PARENT, run_id=PARENT)
    assert {view.state.status.value for task, view in _views(tmp_path).items() if task != PARENT} == {"completed"}
    log = Path(result.wal_locator)
    lines = log.read_bytes().splitlines(keepends=True)
    count = next(number for number, line in enumerate(lines) if b'"child_run_finished"' in line)
    log.write_bytes(b"".join(lines[:count]))
    _agent(tmp_path, Brood(tasks, last=9), {"max_tokens": 300}).run("", run_id=PARENT)
    views = _views(tmp_path)
    assert views[PARENT].state.child_tokens == 200
    assert 300 <= _tokens(views) <= 300 + ANSWER


def test_what_children_used_is_reported_after_a_death_although_nothing_limits_it(tmp_path: Path) -> None:
    tasks, limits = _children(2), {"max_steps": 12}
    log = Path(_agent(tmp_path, Brood(tasks, last=9), limits).run(PARENT, run_id=PARENT).wal_locator)
    lines = log.read_bytes().splitlines(keepends=True)
    count = next(number for number, line in enumerate(lines) if b'"child_run_finished"' in line)
    log.write_bytes(b"".join(lines[:count]))
    _agent(tmp_path, Brood(tasks, last=9), limits).run("", run_id=PARENT)
    assert _views(tmp_path)[PARENT].state.child_tokens == 200


@pytest.mark.parametrize("limits", [{"max_tokens": 300}, {"max_tool_calls": 40}], ids=["tokens", "calls"])
@pytest.mark.parametrize("family", FAMILIES)
def test_what_relatives_have_used_is_no_difference_in_a_replay(
    tmp_path: Path, family: str, limits: Mapping[str, Any]
) -> None:
    agent = _agent(tmp_path, Brood(FAMILIES[family]), limits)
    agent.run(PARENT, run_id=PARENT)
    views = _views(tmp_path)
    result = {task: asyncio.run(replay(_paths(tmp_path, task).root, agent.resolved)) for task in views}
    assert result == dict.fromkeys(views)
