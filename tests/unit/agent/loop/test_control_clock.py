"""Somebody at the terminal may think as long as they like: a run's time stands still until they answer."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import Agent, RunResult
from skills_runtime.agent.loop import Control
from skills_runtime.agent.options import RunRequest
from skills_runtime.agent.run_inputs import run_spec
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.config import resolve
from skills_runtime.ports import ApprovalRequest, DecisionKind, HumanIO, Question
from skills_runtime.runs import LogPorts, create_run, open_run, runs_root
from skills_runtime.testing import FakeModel, FrozenClock, says
from tests.support.agents import agent_in, calls, writes

RUN_ID = "run_1"
LIMIT = 60


class Thinking:
    """A person who takes ten minutes, and looks at the clock of the run meanwhile."""

    def __init__(self, clock: FrozenClock, control: Control, *, leaves: bool = False) -> None:
        self.seen: list[float | None] = []
        self._clock, self._control = clock, control
        self._leaves = leaves

    async def ask(self, question: Question, *, call_id: str, timeout_ms: int | None = None) -> str:
        """Think, and answer or be gone."""
        assert self._control.time is not None
        self.seen.append(self._control.time.when())
        self._clock.advance(600)
        if self._leaves:
            self._control.stopping = True
            raise asyncio.CancelledError
        return "yes"


class Deciding:
    """An approver who looks at the clock of the run before they decide."""

    def __init__(self, control: Control) -> None:
        self.seen: list[float | None] = []
        self._control = control

    async def request_approval(self, *, request: ApprovalRequest, timeout_ms: int | None = None) -> DecisionKind:
        """Look, and approve."""
        assert self._control.time is not None
        self.seen.append(self._control.time.when())
        return "approved"


class Segments:
    """Works on one run with a clock of its own."""

    def __init__(self, directory: Path, *answers: Any) -> None:
        self.clock = FrozenClock()
        self.control = Control()
        self._place, self._model = directory, FakeModel(answers)
        self._ports = LogPorts(log_ports().keys, self.clock)

    def work(self, human: HumanIO | None) -> RunResult:
        """One segment."""
        settings: Mapping[str, Any] = {"safety": {"mode": "allow"}, "run": {"max_wall_time_sec": LIMIT}}
        agent = Agent(workspace_root=self._place, backend=self._model, session_settings=settings, human_io=human)
        root = runs_root(self._place) / RUN_ID
        if root.exists():
            run = open_run(root, self._ports)
        else:
            request = RunRequest(prompt="Go.", run_id=RUN_ID)
            run = create_run(run_spec(resolve(self._place, session_settings=settings), request), self._ports)
        self.worked = lambda: run.state.worked_sec
        return asyncio.run(agent.execute(run, control=self.control))


ASKING = calls(("ask_human", {"question": "Go on?"}))


def test_the_clock_of_a_segment_stands_still_while_an_answer_is_pending(tmp_path: Path) -> None:
    segments = Segments(tmp_path, ASKING, says("done"))
    person = Thinking(segments.clock, segments.control)
    assert segments.work(person).status == "completed"
    assert person.seen == [None], "nothing can expire"


def test_waiting_time_of_one_segment_is_not_counted_in_the_next(tmp_path: Path) -> None:
    two = calls(("ask_human", {"question": "Go on?"}), ids=["first"])
    segments = Segments(tmp_path, two, ASKING, says("done"))

    class Once(Thinking):
        async def ask(self, question: Question, *, call_id: str, timeout_ms: int | None = None) -> str:
            self._leaves = call_id != "first"
            return await super().ask(question, call_id=call_id, timeout_ms=timeout_ms)

    with pytest.raises(asyncio.CancelledError):
        segments.work(Once(segments.clock, segments.control))
    assert segments.worked() < LIMIT
    segments.control = Control()
    assert segments.work(Thinking(segments.clock, segments.control)).status == "completed"


async def test_the_clock_stands_still_while_an_approver_thinks(tmp_path: Path) -> None:
    control, model = Control(), FakeModel([calls(writes("a.txt", "x")), says("done")])
    approver = Deciding(control)
    agent = agent_in(tmp_path, model, mode="ask", approver=approver)
    result = await agent.execute(agent.create(RunRequest(prompt="Go.")), control=control)
    assert (result.status, approver.seen) == ("completed", [None])


async def test_the_clock_continues_with_what_was_left_when_the_last_answer_is_there() -> None:
    control, now = Control(), asyncio.get_running_loop().time
    async with asyncio.timeout(1000) as control.time:
        with control.waiting():
            with control.waiting():
                assert control.time.when() is None
            assert control.time.when() is None, "somebody is still waited for"
            control.extend(500)
        when = control.time.when()
        assert when is not None
        assert 1400 < when - now() <= 1500


async def test_a_segment_without_a_limit_has_no_clock_to_stop() -> None:
    control = Control()
    async with asyncio.timeout(None) as control.time:
        with control.waiting():
            control.extend(5)
        assert control.time.when() is None
