"""The dispatcher of this process: by run id, bounded, idempotent; its index never knows more than the disk."""

import asyncio
import errno
import os
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import Agent, RunRequest
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.clock import RandomIds, SystemClock
from skills_runtime.errors import LogEnded, LogLocked, NotFound, SkillsRuntimeError, StorageFailed, ValidationFailed
from skills_runtime.events.states import RunStatus
from skills_runtime.ledger import Ledger, open_ledger
from skills_runtime.ports import ToolContext, ToolResult
from skills_runtime.runs import LogPorts, RunPaths, open_run, read_events, read_record
from skills_runtime.testing import FaultyDisk, says
from tests.support.agents import Doing, agent_in, calls, writes
from tests.unit.engine.hosts import WAIT, AgentHost


class Gate:
    """A tool that waits until the test lets it go, and counts who is inside."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.arrived = asyncio.Semaphore(0)
        self.inside = self.most = 0

    async def pass_through(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Wait inside."""
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.arrived.release()
        try:
            await self.opened.wait()
        finally:
            self.inside -= 1
        return ToolResult(ok=True)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with open_ledger(tmp_path / "state", clock=SystemClock(), ids=RandomIds()) as opened:
        yield opened


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def agent(tmp_path: Path, gate: Gate) -> Agent:
    made = agent_in(tmp_path, [calls(("gate", {})), says("done")])
    made.register_tool(Doing(gate.pass_through, name="gate", effect="read"))
    return made


async def test_a_scheduled_run_is_executed(agent: Agent, ledger: Ledger, gate: Gate) -> None:
    gate.opened.set()
    host = AgentHost(agent, ledger)
    await host.start()
    state = await host.wait()
    assert (state.status, state.final_output, state.run_id) == ("completed", "done", "run_1")


async def test_a_run_that_is_scheduled_twice_is_opened_once(agent: Agent, ledger: Ledger, gate: Gate) -> None:
    host = AgentHost(agent, ledger)
    host.create()
    await asyncio.gather(*(host.dispatcher.schedule("run_1") for _ in range(5)))
    gate.opened.set()
    assert (await host.wait()).status is RunStatus.COMPLETED
    assert host.opened == ["run_1"]


async def test_a_run_that_another_process_holds_is_refused(agent: Agent, ledger: Ledger, gate: Gate) -> None:
    gate.opened.set()
    host = AgentHost(agent, ledger)
    locked_run = agent.resume(host.create().root)
    with pytest.raises(LogLocked):
        await host.dispatcher.schedule("run_1")
    locked_run.close()
    await host.dispatcher.schedule("run_1")
    assert (await host.wait()).status is RunStatus.COMPLETED


async def test_a_run_that_has_ended_is_refused(agent: Agent, ledger: Ledger, gate: Gate) -> None:
    gate.opened.set()
    host = AgentHost(agent, ledger)
    await host.start()
    await host.wait()
    with pytest.raises(LogEnded):
        await host.dispatcher.schedule("run_1")


async def test_a_run_is_not_started_before_its_time(agent: Agent, ledger: Ledger, gate: Gate) -> None:
    gate.opened.set()
    host = AgentHost(agent, ledger)
    host.create()
    now = datetime.fromisoformat(SystemClock().now())
    await host.dispatcher.schedule("run_1", (now + timedelta(seconds=0.2)).isoformat())
    assert host.opened == []
    await asyncio.wait_for(gate.arrived.acquire(), WAIT)
    assert (await host.wait()).status is RunStatus.COMPLETED
    assert datetime.fromisoformat(host.state("run_1").started_at or "") >= now + timedelta(seconds=0.2)


async def test_a_run_that_is_stopped_before_its_time_is_not_started(agent: Agent, ledger: Ledger) -> None:
    host = AgentHost(agent, ledger)
    host.create()
    later = datetime.fromisoformat(SystemClock().now()) + timedelta(hours=1)
    await host.dispatcher.schedule("run_1", later.isoformat())
    await host.dispatcher.stop("run_1")
    await host.drain()
    assert host.opened == []


async def test_no_more_runs_than_slots_work_at_once(agent: Agent, ledger: Ledger, gate: Gate) -> None:
    host = AgentHost(agent, ledger, slots=2)
    for number in range(5):
        await host.start(f"run_{number}")
    for _ in range(2):
        await asyncio.wait_for(gate.arrived.acquire(), WAIT)
    statuses = sorted(row.status for row in ledger.index.list())
    assert statuses == [RunStatus.PENDING] * 3 + [RunStatus.RUNNING] * 2
    gate.opened.set()
    await host.drain()
    assert gate.most == 2
    assert {row.status for row in ledger.index.list()} == {RunStatus.COMPLETED}


async def test_a_waiting_run_is_in_the_ledger_before_it_starts(agent: Agent, ledger: Ledger, gate: Gate) -> None:
    host = AgentHost(agent, ledger, slots=1)
    await host.start("run_1")
    await host.start("run_2")
    assert ledger.index.get("run_2").status is RunStatus.PENDING
    gate.opened.set()
    await host.drain()


async def test_cancel_returns_when_the_run_has_stopped(agent: Agent, ledger: Ledger, gate: Gate) -> None:
    host = AgentHost(agent, ledger)
    paths = await host.start()
    await asyncio.wait_for(gate.arrived.acquire(), WAIT)
    await asyncio.wait_for(host.dispatcher.cancel("run_1"), WAIT)
    assert gate.inside == 0
    assert read_record(paths.run_json).status == "cancelled"
    assert ledger.index.get("run_1").status is RunStatus.CANCELLED


@pytest.mark.parametrize("slots", [1, 2], ids=["waiting", "about to start"])
async def test_a_run_cancelled_before_it_started_is_cancelled(
    agent: Agent, ledger: Ledger, gate: Gate, slots: int
) -> None:
    host = AgentHost(agent, ledger, slots=slots)
    await host.start("run_1")
    second = await host.start("run_2")
    await asyncio.wait_for(host.dispatcher.cancel("run_2"), WAIT)
    assert read_record(second.run_json).status == "cancelled"
    assert ledger.index.get("run_2").status is RunStatus.CANCELLED
    gate.opened.set()
    await host.drain()
    assert ledger.index.get("run_1").status is RunStatus.COMPLETED


async def test_cancelling_a_run_that_has_ended_changes_nothing(agent: Agent, ledger: Ledger, gate: Gate) -> None:
    gate.opened.set()
    host = AgentHost(agent, ledger)
    await host.start()
    await host.wait()
    await asyncio.wait_for(host.dispatcher.cancel("run_1"), WAIT)
    assert ledger.index.get("run_1").status is RunStatus.COMPLETED


async def test_drain_waits_for_what_is_under_way_and_takes_no_more(agent: Agent, ledger: Ledger, gate: Gate) -> None:
    host = AgentHost(agent, ledger)
    await host.start()
    await asyncio.wait_for(gate.arrived.acquire(), WAIT)
    draining = asyncio.create_task(host.dispatcher.drain())
    await asyncio.sleep(0)
    assert not draining.done()
    late = host.create("run_2")
    with pytest.raises(ValidationFailed):
        await host.dispatcher.schedule("run_2")
    gate.opened.set()
    await asyncio.wait_for(draining, WAIT)
    assert ledger.index.get("run_1").status is RunStatus.COMPLETED
    open_run(late.root, log_ports()).close()


async def test_runs_that_are_not_worked_on_here_are_ignored(agent: Agent, ledger: Ledger) -> None:
    host = AgentHost(agent, ledger)
    for ask in (host.dispatcher.nudge, host.dispatcher.cancel, host.dispatcher.stop):
        await ask("run_9")
    with pytest.raises((NotFound, SkillsRuntimeError)):
        await host.dispatcher.schedule("run_9")


async def test_the_row_follows_the_run(tmp_path: Path, ledger: Ledger) -> None:
    agent = agent_in(tmp_path, [calls(writes("deliverables/r", "x")), says("the answer", usage={"input_tokens": 3})])
    host = AgentHost(agent, ledger)
    run = agent.create(RunRequest(prompt="Find the needle.", run_id="run_1", session_id="s1", task_id="t1"))
    run.close()
    await host.dispatcher.schedule("run_1")
    await host.wait()
    row, last = ledger.index.get("run_1"), list(read_events(run.paths))[-1]
    assert (row.session_id, row.task_id, row.status, row.title) == ("s1", "t1", "completed", "Find the needle.")
    assert (row.last_seq, row.last_mac, row.input_tokens, row.tool_calls) == (last.seq, last.mac, 3, 1)
    assert Path(row.path) == run.paths.root
    assert [found.run_id for found in ledger.index.search("needle")] == ["run_1"]
    assert [found.run_id for found in ledger.index.search("the answer")] == ["run_1"]


class WatchedDisk(FaultyDisk):
    """Remembers how much of the log was on the disk after each sync."""

    durable = 0

    def sync(self, fd: int) -> None:
        super().sync(fd)
        self.durable = os.fstat(fd).st_size


async def _dispatch(directory: Path, ledger: Ledger, disk: WatchedDisk) -> tuple[RunPaths, AgentHost]:
    agent = agent_in(directory, [calls(writes("a.txt", "x")), says("done")])
    host = AgentHost(agent, ledger, ports=LogPorts(log_ports().keys, disk=disk))
    paths = host.create()
    try:
        await host.dispatcher.schedule("run_1")
    except StorageFailed:
        return paths, host
    await host.drain()
    return paths, host


@pytest.mark.parametrize("nth", range(1, 6))
async def test_the_ledger_never_knows_more_than_the_disk(tmp_path: Path, ledger: Ledger, nth: int) -> None:
    disk = WatchedDisk()
    disk.fail("sync", errno.EIO, nth=nth)
    paths, host = await _dispatch(tmp_path, ledger, disk)
    durable = paths.events.read_bytes()[: disk.durable].count(b"\n")
    rows = ledger.index.list()
    assert all(row.last_seq < durable for row in rows)
    assert bool(rows) == (nth > 1)
    assert "run_1" not in host.errors or isinstance(host.errors["run_1"], StorageFailed)


async def test_a_run_whose_disk_fails_is_free_for_the_next_process(tmp_path: Path, ledger: Ledger) -> None:
    disk = WatchedDisk()
    disk.fail("sync", errno.EIO, nth=1)
    paths, _ = await _dispatch(tmp_path, ledger, disk)
    open_run(paths.root, log_ports()).close()
