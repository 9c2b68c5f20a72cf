"""The first moments of a run that is worked on at once: hooks that raise, and stops before anything was awaited."""

import asyncio
from pathlib import Path

import pytest

from skills_runtime.agent.loop.control import Control
from skills_runtime.agent.options import RunRequest
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.events import Event
from skills_runtime.runs import fork_point, read_record, runs_root
from skills_runtime.runs.verify import verify_run
from skills_runtime.testing import says
from tests.support.agents import agent_in, calls, events_of, payloads_of


def status_of(directory: Path, run_id: str) -> str:
    return read_record(runs_root(directory) / run_id / "run.json").status


@pytest.mark.parametrize("first", ["run_state_changed", "run_started"])
def test_a_hook_that_raises_at_the_first_events_does_not_keep_the_run(tmp_path: Path, first: str) -> None:
    def broken(event: Event) -> None:
        if event.type == first:
            raise RuntimeError("the hook broke")

    with pytest.raises(RuntimeError, match="the hook broke") as caught:
        agent_in(tmp_path, [says("done")], hooks=[broken]).run("Go.", run_id="run_1")
    assert agent_in(tmp_path, [says("done")]).run("", run_id="run_1").status == "completed"
    assert caught.value  # whoever keeps it keeps everything that was at work when it was raised


async def test_a_run_cancelled_before_it_waits_for_anything_is_cancelled_for_good(tmp_path: Path) -> None:
    agent = agent_in(tmp_path, [says("done")])

    async def work() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await agent.run_async("Go.", run_id="run_1")

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(work())
    assert status_of(tmp_path, "run_1") == "cancelled"


async def test_a_run_stopped_before_its_loop_has_started_waits_and_is_shown_so(tmp_path: Path) -> None:
    agent, control = agent_in(tmp_path, [says("done")]), Control()
    control.stopping = True
    run = agent.create(RunRequest(prompt="Go.", run_id="run_1"))
    work = asyncio.create_task(agent.execute(run, control=control))
    await asyncio.sleep(0)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert events_of(str(run.paths.events))[-1].type == "run_waiting_human"
    assert status_of(tmp_path, "run_1") == "waiting_for_user"
    assert (await agent.run_async("", run_id="run_1")).status == "completed"


async def test_a_stream_left_at_its_first_event_is_cancelled_for_good(tmp_path: Path) -> None:
    events = agent_in(tmp_path, [says("done")]).run_stream_async("Go.", run_id="run_1")
    assert (await anext(events)).type == "run_state_changed"
    await events.aclose()
    assert status_of(tmp_path, "run_1") == "cancelled"


@pytest.mark.parametrize("seq", range(6))
def test_a_fork_at_every_early_event_starts_as_a_new_run(tmp_path: Path, seq: int) -> None:
    agent = agent_in(tmp_path, [calls(("list_dir", {"dir_path": "."})), *[says("done")] * 2])
    result = agent.run("Go.", run_id="run_1")
    fork = agent.fork(Path(result.wal_locator).parent, seq, run_id="fork")
    assert status_of(tmp_path, "fork") == "pending"
    forked = asyncio.run(agent.execute(fork))
    assert [payload.resume["enabled"] for payload in payloads_of(forked.wal_locator, "run_started")] == [False]
    assert [event.type for event in events_of(forked.wal_locator)].count("run_state_changed") == 1
    assert verify_run(Path(forked.wal_locator).parent, log_ports().keys).ok


def test_a_started_fork_reports_only_its_own_events(tmp_path: Path) -> None:
    events = list[Event]()
    agent = agent_in(tmp_path, [says("done")] * 2, hooks=[events.append])
    result = agent.run("Go.", run_id="run_1")
    events.clear()
    point = fork_point(Path(result.wal_locator).parent, 2, log_ports())
    run = agent.create(RunRequest(prompt="Go.", run_id="fork", fork=point), working=True)
    forked = asyncio.run(agent.execute(run))
    assert events == events_of(forked.wal_locator)[2:]
    assert {event.run_id for event in events} == {"fork"}
