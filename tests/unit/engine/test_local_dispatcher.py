"""The dispatcher of one machine: bounded, stoppable, and with a ledger that never knows more than the disk."""

import asyncio
import errno
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import Agent, RunRequest
from skills_runtime.agent.run_inputs import run_spec
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.clock import RandomIds, SystemClock
from skills_runtime.config import resolve
from skills_runtime.engine import LocalDispatcher
from skills_runtime.errors import NotFound, StorageFailed, ValidationFailed
from skills_runtime.events.states import RunStatus
from skills_runtime.ledger import Ledger, open_ledger
from skills_runtime.ports import ToolContext, ToolResult
from skills_runtime.runs import LogPorts, Run, create_run, open_run, read_events, read_record
from skills_runtime.testing import FaultyDisk, says
from tests.support.agents import Doing, agent_in, calls, writes

WAIT = 30


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


def _new(agent: Agent, number: int = 1) -> Run:
    return agent.create(RunRequest(prompt=f"Task {number}.", run_id=f"run_{number}"))


async def test_a_submitted_run_is_executed(agent: Agent, ledger: Ledger, gate: Gate) -> None:
    gate.opened.set()
    dispatcher = LocalDispatcher(agent, ledger.index)
    await dispatcher.submit(_new(agent))
    result = await asyncio.wait_for(dispatcher.result("run_1"), WAIT)
    assert (result.status, result.final_output, result.run_id) == ("completed", "done", "run_1")


async def test_no_more_runs_than_slots_work_at_once(agent: Agent, ledger: Ledger, gate: Gate) -> None:
    dispatcher = LocalDispatcher(agent, ledger.index, slots=2)
    for number in range(5):
        await dispatcher.submit(_new(agent, number))
    for _ in range(2):
        await asyncio.wait_for(gate.arrived.acquire(), WAIT)
    statuses = sorted(row.status for row in ledger.index.list())
    assert statuses == [RunStatus.PENDING] * 3 + [RunStatus.RUNNING] * 2
    gate.opened.set()
    await asyncio.wait_for(dispatcher.drain(), WAIT)
    assert gate.most == 2
    assert {row.status for row in ledger.index.list()} == {RunStatus.COMPLETED}


async def test_a_waiting_run_is_in_the_ledger_before_it_starts(agent: Agent, ledger: Ledger, gate: Gate) -> None:
    dispatcher = LocalDispatcher(agent, ledger.index, slots=1)
    await dispatcher.submit(_new(agent, 1))
    await dispatcher.submit(_new(agent, 2))
    assert ledger.index.get("run_2").status is RunStatus.PENDING
    gate.opened.set()
    await asyncio.wait_for(dispatcher.drain(), WAIT)


async def test_cancel_returns_when_the_run_has_stopped(agent: Agent, ledger: Ledger, gate: Gate) -> None:
    dispatcher = LocalDispatcher(agent, ledger.index)
    run = _new(agent)
    await dispatcher.submit(run)
    await asyncio.wait_for(gate.arrived.acquire(), WAIT)
    await asyncio.wait_for(dispatcher.cancel("run_1"), WAIT)
    assert gate.inside == 0
    assert read_record(run.paths.run_json).status == "cancelled"
    assert ledger.index.get("run_1").status is RunStatus.CANCELLED
    result = await asyncio.wait_for(dispatcher.result("run_1"), WAIT)
    assert result.status == "cancelled"


@pytest.mark.parametrize("slots", [1, 2], ids=["waiting", "about to start"])
async def test_a_run_cancelled_before_it_started_is_cancelled(
    agent: Agent, ledger: Ledger, gate: Gate, slots: int
) -> None:
    dispatcher = LocalDispatcher(agent, ledger.index, slots=slots)
    await dispatcher.submit(_new(agent, 1))
    second = _new(agent, 2)
    await dispatcher.submit(second)
    await asyncio.wait_for(dispatcher.cancel("run_2"), WAIT)
    assert read_record(second.paths.run_json).status == "cancelled"
    assert ledger.index.get("run_2").status is RunStatus.CANCELLED
    gate.opened.set()
    await asyncio.wait_for(dispatcher.drain(), WAIT)
    assert ledger.index.get("run_1").status is RunStatus.COMPLETED


async def test_cancelling_a_run_that_has_ended_changes_nothing(agent: Agent, ledger: Ledger, gate: Gate) -> None:
    gate.opened.set()
    dispatcher = LocalDispatcher(agent, ledger.index)
    await dispatcher.submit(_new(agent))
    await asyncio.wait_for(dispatcher.result("run_1"), WAIT)
    await asyncio.wait_for(dispatcher.cancel("run_1"), WAIT)
    assert ledger.index.get("run_1").status is RunStatus.COMPLETED


async def test_who_gives_up_waiting_does_not_stop_the_run(agent: Agent, ledger: Ledger, gate: Gate) -> None:
    dispatcher = LocalDispatcher(agent, ledger.index)
    await dispatcher.submit(_new(agent))
    waiting = asyncio.create_task(dispatcher.result("run_1"))
    await asyncio.wait_for(gate.arrived.acquire(), WAIT)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    gate.opened.set()
    assert (await asyncio.wait_for(dispatcher.result("run_1"), WAIT)).status == "completed"


async def test_drain_waits_for_what_is_under_way_and_takes_no_more(agent: Agent, ledger: Ledger, gate: Gate) -> None:
    dispatcher = LocalDispatcher(agent, ledger.index)
    await dispatcher.submit(_new(agent))
    await asyncio.wait_for(gate.arrived.acquire(), WAIT)
    draining = asyncio.create_task(dispatcher.drain())
    await asyncio.sleep(0)
    assert not draining.done()
    late = _new(agent, 2)
    with pytest.raises(ValidationFailed):
        await dispatcher.submit(late)
    gate.opened.set()
    await asyncio.wait_for(draining, WAIT)
    assert ledger.index.get("run_1").status is RunStatus.COMPLETED
    open_run(late.paths.root, log_ports()).close()


async def test_a_run_nobody_submitted_is_not_found(agent: Agent, ledger: Ledger) -> None:
    dispatcher = LocalDispatcher(agent, ledger.index)
    for ask in (dispatcher.nudge, dispatcher.cancel, dispatcher.result):
        with pytest.raises(NotFound, match="run_9"):
            await ask("run_9")


async def test_a_run_can_be_nudged(agent: Agent, ledger: Ledger, gate: Gate) -> None:
    dispatcher = LocalDispatcher(agent, ledger.index)
    await dispatcher.submit(_new(agent))
    await dispatcher.nudge("run_1")
    gate.opened.set()
    await asyncio.wait_for(dispatcher.drain(), WAIT)


async def test_the_row_follows_the_run(tmp_path: Path, ledger: Ledger) -> None:
    agent = agent_in(tmp_path, [calls(writes("deliverables/r", "x")), says("the answer", usage={"input_tokens": 3})])
    dispatcher = LocalDispatcher(agent, ledger.index)
    run = agent.create(RunRequest(prompt="Find the needle.", run_id="run_1", session_id="s1", task_id="t1"))
    await dispatcher.submit(run)
    await asyncio.wait_for(dispatcher.result("run_1"), WAIT)
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


async def _dispatched(place: Path, ledger: Ledger, disk: WatchedDisk) -> Run:
    agent = agent_in(place, [calls(writes("a.txt", "x")), says("done")])
    request = RunRequest(prompt="Go.", run_id="run_1")
    spec = run_spec(resolve(place, session_settings={"safety": {"mode": "allow"}}), request)
    run = create_run(spec, LogPorts(log_ports().keys, disk=disk))
    dispatcher = LocalDispatcher(agent, ledger.index)
    try:
        await dispatcher.submit(run)
    except StorageFailed:
        return run
    await asyncio.wait_for(dispatcher.drain(), WAIT)
    return run


@pytest.mark.parametrize("nth", range(1, 6))
async def test_the_ledger_never_knows_more_than_the_disk(tmp_path: Path, ledger: Ledger, nth: int) -> None:
    disk = WatchedDisk()
    disk.fail("sync", errno.EIO, nth=nth)
    run = await _dispatched(tmp_path, ledger, disk)
    durable = run.paths.events.read_bytes()[: disk.durable].count(b"\n")
    rows = ledger.index.list()
    assert all(row.last_seq < durable for row in rows)
    assert bool(rows) == (nth > 1)


async def test_a_run_whose_disk_fails_is_free_for_the_next_process(tmp_path: Path, ledger: Ledger) -> None:
    disk = WatchedDisk()
    disk.fail("sync", errno.EIO, nth=1)
    run = await _dispatched(tmp_path, ledger, disk)
    open_run(run.paths.root, log_ports()).close()
