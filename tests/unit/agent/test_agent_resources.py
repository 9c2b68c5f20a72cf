"""Tools that are not async: whoever waits for a run does not wait for a thread that nothing can end."""

import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import cast

import pytest

from skills_runtime.agent import Agent
from skills_runtime.events import Event
from skills_runtime.llm import ScriptedBackend
from skills_runtime.testing import says
from tests.support.agents import calls, payloads_of

BOUND = 30
"""Far more than anything here takes; only a hang is longer."""


class Stuck:
    """A tool whose thread hangs until the test is over."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.released = threading.Event()
        self.ended = threading.Event()

    def wait(self) -> str:
        """Wait until somebody lets it go."""
        self.begun.set()
        self.released.wait(BOUND)
        self.ended.set()
        return "late"


@pytest.fixture
def stuck() -> Iterator[Stuck]:
    """A tool that hangs, and is let go at the end."""
    tool = Stuck()
    yield tool
    tool.released.set()
    assert not tool.begun.is_set() or tool.ended.wait(BOUND)


def agent_for(
    directory: Path, stuck: Stuck, *, timeout_sec: float | None = None, max_seconds: int | None = None
) -> Agent:
    agent = Agent(
        workspace_root=directory,
        backend=ScriptedBackend([calls(("stuck", {})), says("done")]),
        session_settings={"safety": {"mode": "allow"}, "run": {"max_wall_time_sec": max_seconds}},
        cancel_checker=stuck.begun.is_set if timeout_sec is None and max_seconds is None else None,
    )
    agent.tool(name="stuck", timeout_sec=timeout_sec)(stuck.wait)
    return agent


def test_a_cancelled_run_returns_while_the_thread_still_runs(tmp_path: Path, stuck: Stuck) -> None:
    result = agent_for(tmp_path, stuck).run("Go.")
    assert result.status == "cancelled"
    assert not stuck.ended.is_set()


def test_a_cancelled_stream_ends_while_the_thread_still_runs(tmp_path: Path, stuck: Stuck) -> None:
    seen = [event.type for event in agent_for(tmp_path, stuck).run_stream("Go.")]
    assert seen[-1] == "run_cancelled"
    assert not stuck.ended.is_set()


def test_leaving_a_stream_does_not_wait_for_the_thread(tmp_path: Path, stuck: Stuck) -> None:
    events = cast("Generator[Event]", agent_for(tmp_path, stuck, timeout_sec=BOUND).run_stream("Go."))
    assert "tool_call_started" in (event.type for event in events)
    events.close()
    assert not stuck.ended.is_set()


def test_a_call_out_of_time_leaves_its_thread_behind_and_the_run_continues(tmp_path: Path, stuck: Stuck) -> None:
    result = agent_for(tmp_path, stuck, timeout_sec=0.01).run("Go.")
    assert (result.status, result.final_output) == ("completed", "done")
    (finished,) = payloads_of(result.wal_locator, "tool_call_finished")
    assert finished.result["error_kind"] == "timeout"
    assert not stuck.ended.is_set()


@pytest.mark.slow
def test_a_run_out_of_time_returns_while_the_thread_still_runs(tmp_path: Path, stuck: Stuck) -> None:
    result = agent_for(tmp_path, stuck, max_seconds=1).run("Go.")
    assert (result.status, result.error_kind) == ("failed", "budget_exceeded")
    assert not stuck.ended.is_set()


async def test_a_run_inside_a_running_event_loop_does_not_wait_for_the_thread(tmp_path: Path, stuck: Stuck) -> None:
    result = agent_for(tmp_path, stuck).run("Go.")
    assert result.status == "cancelled"
    assert not stuck.ended.is_set()
