"""`run_stream` wherever it is asked for: inside a running event loop, from several threads, left at any event."""

import asyncio
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import pytest

from skills_runtime.agent import Agent
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.events import Event
from skills_runtime.runs import RunPaths, read_view, runs_root, verify_run
from skills_runtime.testing import says
from tests.support.agents import agent_in, calls, writes


def stream(agent: Agent, run_id: str = "run_1") -> Generator[Event]:
    return cast("Generator[Event]", agent.run_stream("Go.", run_id=run_id))


def agent_at(directory: Path) -> Agent:
    return agent_in(directory, [calls(writes("a", "b")), says("do", "ne")])


async def test_inside_a_running_event_loop_it_gives_every_event(tmp_path: Path) -> None:
    outside = [event.type for event in await asyncio.to_thread(lambda: list(stream(agent_at(tmp_path), "run_0")))]
    assert [event.type for event in stream(agent_at(tmp_path))] == outside
    assert outside[-1] == "run_completed"


async def test_inside_a_running_event_loop_an_error_reaches_the_caller(tmp_path: Path) -> None:
    agent = agent_at(tmp_path)
    assert list(stream(agent))
    with pytest.raises(Exception, match="has ended"):
        list(stream(agent))


@pytest.mark.parametrize("inside", [True, False])
def test_closing_the_stream_at_any_event_cancels_the_run(tmp_path: Path, *, inside: bool) -> None:
    async def leave(number: int) -> bool:
        return _left_after(number, agent_at(tmp_path))

    number = 0
    while asyncio.run(leave(number)) if inside else _left_after(number, agent_at(tmp_path)):
        number += 1
    assert number > 10


def _left_after(number: int, agent: Agent) -> bool:
    """Leave a stream after so many events; returns whether there were as many before the last."""
    events = stream(agent, f"run_{number}")
    seen = [next(events).type for _ in range(number + 1)]
    events.close()
    paths = RunPaths(runs_root(agent.workspace_root) / f"run_{number}")
    ended = seen[-1] == "run_completed"
    assert verify_run(paths.root, log_ports().keys).findings == []
    assert read_view(paths, log_ports()).state.status in (("completed",) if ended else ("cancelled", "completed"))
    return not ended


def test_each_event_may_be_taken_by_another_thread(tmp_path: Path) -> None:
    events, seen = stream(agent_at(tmp_path)), list[str]()
    while True:
        with ThreadPoolExecutor(1) as thread:
            event = thread.submit(next, events, None).result()
        if event is None:
            break
        seen.append(event.type)
    assert seen[-1] == "run_completed"


async def test_one_that_was_started_outside_may_be_read_on_inside_and_outside_again(tmp_path: Path) -> None:
    events = await asyncio.to_thread(stream, agent_at(tmp_path))
    first = await asyncio.to_thread(next, events)
    second = next(events)
    rest = await asyncio.to_thread(list, events)
    assert [event.seq for event in (first, second, *rest)] == list(range(first.seq, first.seq + len(rest) + 2))
    assert rest[-1].type == "run_completed"
