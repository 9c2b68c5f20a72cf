"""The same script gives the same log, run straight through or stopped and gone on with at every turn."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skills_runtime.agent import RunResult
from skills_runtime.agent.loop.control import Control
from skills_runtime.agent.options import RunRequest
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.engine import RunControl
from skills_runtime.events import Event
from skills_runtime.llm import FakeChatCall
from skills_runtime.runs import read_events, verify_run
from skills_runtime.testing import FakeModel, says
from tests.support.agents import calls, writes
from tests.support.crashes import CRASH_RUN_ID, SCRIPT, STEERS, World
from tests.support.events import check_request
from tests.support.examples import examples
from tests.support.runs import resumes_in, story_of

BOUNDARIES = frozenset({"llm_response_finished", "tool_call_finished"})
"""After these the loop looks around: whether it shall stop, and whether there are messages."""


class Stopping:
    """Asks the loop to stop at the boundary behind the `every`-th answer or result."""

    def __init__(self, every: int) -> None:
        self.control = Control()
        self._left = every

    def listen(self, event: Event) -> None:
        """See an event."""
        if event.type in BOUNDARIES:
            self._left -= 1
            self.control.yielding = self._left == 0


def stopped_run(directory: Path, script: Sequence[FakeChatCall], every: Sequence[int]) -> tuple[World, FakeModel, int]:
    """Run a script with a fresh agent for each segment; returns how often it was stopped on the way."""
    world, watched, stops = World(directory), FakeModel(script), 0
    with world.inbox() as inbox:
        inbox.send(CRASH_RUN_ID, "steer", {"text": STEERS[0]}, idempotency_key="first")
        desk = RunControl(inbox, log_ports())
        run = world.agent(watched, inbox).create(RunRequest(prompt="Go.", run_id=CRASH_RUN_ID))
        while True:
            stopping = Stopping(every[stops % len(every)])
            run.log.listen(stopping.listen)
            result: RunResult = asyncio.run(world.agent(watched, inbox).execute(run, control=stopping.control))
            if result.status == "waiting_human":
                desk.answer(world.paths, "blue", key="answer")
            elif result.status == "paused":
                stops += 1
            else:
                assert result.status == "completed"
                return world, watched, stops
            run = world.agent(watched, inbox).resume(world.paths.root)


def straight_run(directory: Path, script: Sequence[FakeChatCall]) -> World:
    """The same without a stop."""
    world = World(directory)
    result = world.go_on(FakeModel(script))
    assert result is not None
    assert result.status == "completed"
    return world


def _check_same(straight: World, stopped: World, stops: int) -> None:
    events, other = list(read_events(straight.paths)), list(read_events(stopped.paths))
    assert story_of(other) == story_of(events)
    assert resumes_in(other) - resumes_in(events) == stops, "each stop leaves one `run_started` and nothing else"
    assert len(other) - len(events) == stops


@pytest.mark.parametrize("every", [1, 2, 5])
def test_a_run_that_is_stopped_at_every_boundary_writes_the_same_log(tmp_path: Path, every: int) -> None:
    for name in ("straight", "stopped"):
        (tmp_path / name).mkdir()
    straight = straight_run(tmp_path / "straight", SCRIPT)
    stopped, watched, stops = stopped_run(tmp_path / "stopped", SCRIPT, [every])
    assert stops > 2
    _check_same(straight, stopped, stops)
    assert len(watched.requests) == len(SCRIPT), "nothing is asked twice"
    assert verify_run(stopped.paths.root, log_ports().keys).findings == []


OFFERED: list[tuple[str, dict[str, Any]]] = [
    ("look", {"n": 1}),
    ("look", {"n": 2}),
    ("append", {"line": "x"}),
    ("nudge", {}),
    writes("b.txt", "b"),
    writes("../out.txt", "b"),
    ("update_plan", {"plan": [{"step": "one", "status": "completed"}]}),
    ("no_such_tool", {}),
    ("file_read", {"nothing": 1}),
]
SCRIPTS = st.lists(st.lists(st.sampled_from(OFFERED), min_size=1, max_size=4), max_size=4)


@settings(max_examples=examples(15))
@given(script=SCRIPTS, every=st.lists(st.integers(1, 3), min_size=1, max_size=3))
def test_any_script_writes_the_same_log_however_it_is_stopped(
    tmp_path_factory: pytest.TempPathFactory, script: list[list[tuple[str, Any]]], every: list[int]
) -> None:
    answers = [*(calls(*expected) for expected in script), says("done")]
    straight = straight_run(tmp_path_factory.mktemp("straight"), answers)
    stopped, watched, stops = stopped_run(tmp_path_factory.mktemp("stopped"), answers, every)
    _check_same(straight, stopped, stops)
    for request in watched.requests:
        check_request(request)
