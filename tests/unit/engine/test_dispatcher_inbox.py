"""Messages that reach runs through the dispatcher: cancellation at once, wherever it comes from, and stops."""

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import Agent
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.clock import RandomIds, SystemClock
from skills_runtime.engine import InlineDispatcher, RunControl
from skills_runtime.errors import LogLocked
from skills_runtime.events import Event
from skills_runtime.events.states import RunStatus
from skills_runtime.ledger import Ledger, SqliteInbox, open_ledger
from skills_runtime.llm import ScriptedBackend
from skills_runtime.ports import InboxMessage, ToolContext, ToolResult
from skills_runtime.processes.launcher import dismiss
from skills_runtime.runs import RunPaths, read_events, read_record
from skills_runtime.testing import says
from tests.support.agents import Doing, calls, payloads_of
from tests.support.crashes import PLACES, Hanging, Where
from tests.unit.engine.hosts import WAIT, AgentHost

RUN_ID = "run_1"


@pytest.fixture(autouse=True, scope="module")
def no_launcher_left() -> Iterator[None]:
    yield
    dismiss()


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with open_ledger(tmp_path / "state", clock=SystemClock(), ids=RandomIds()) as opened:
        yield opened


@pytest.fixture
def other_process(tmp_path: Path, ledger: Ledger) -> Iterator[RunControl]:
    """A desk as another process has it: with a connection of its own."""
    with open_ledger(tmp_path / "state", clock=SystemClock(), ids=RandomIds()) as opened:
        yield RunControl(opened.inbox, log_ports())


def workspace_in(directory: Path) -> Path:
    workspace = directory / "workspace"
    workspace.mkdir()
    return workspace


async def _start_hung_run(directory: Path, stage: Where, ledger: Ledger) -> tuple[Hanging, AgentHost, RunPaths]:
    """A scheduled run that hangs."""
    hanging = Hanging(workspace_in(directory), stage)
    host = AgentHost(hanging.agent, ledger)
    paths = await host.start(RUN_ID)
    await asyncio.wait_for(hanging.arrived.wait(), WAIT)
    return hanging, host, paths


@pytest.mark.parametrize("stage", PLACES)
async def test_a_run_is_cancelled_by_a_message_of_another_process_wherever_it_hangs(
    tmp_path: Path, ledger: Ledger, other_process: RunControl, stage: Where
) -> None:
    hanging, host, paths = await _start_hung_run(tmp_path, stage, ledger)
    message = await asyncio.to_thread(other_process.cancel, paths, "enough")
    assert message is not None
    assert ((await host.wait(RUN_ID)).status, hanging.alive()) == ("cancelled", [])
    assert read_record(paths.run_json).status == "cancelled"
    hanging.released.set()
    await host.drain()


async def test_the_message_that_cancelled_a_run_is_in_its_log_and_acknowledged(
    tmp_path: Path, ledger: Ledger, other_process: RunControl
) -> None:
    agent, started = _waiting_agent(workspace_in(tmp_path), ledger)
    host = AgentHost(agent, ledger)
    paths = await host.start(RUN_ID)
    await asyncio.wait_for(started.wait(), WAIT)
    await asyncio.to_thread(other_process.cancel, paths)
    await host.wait(RUN_ID)
    events = [event.type for event in read_events(paths)]
    assert events[-3:] == ["inbox_received", "artifact_manifest_written", "run_cancelled"]
    assert ledger.inbox.unacknowledged_count(RUN_ID) == 0
    await host.drain()


def _waiting_agent(workspace: Path, ledger: Ledger, **more: Any) -> tuple[Agent, asyncio.Event]:
    """An agent whose tool waits for ever."""
    started = asyncio.Event()

    async def wait(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        started.set()
        await asyncio.Event().wait()
        raise AssertionError

    agent = Agent(
        workspace_root=workspace,
        backend=ScriptedBackend([calls(("do", {})), says("done")]),
        session_settings={"safety": {"mode": "allow"}},
        inbox=ledger.inbox,
        **more,
    )
    agent.register_tool(Doing(wait))
    return agent, started


class BusyOnce:
    """The inbox of a ledger whose file is busy the first time somebody asks after a message has come."""

    def __init__(self, inbox: SqliteInbox) -> None:
        self._inbox = inbox
        self.failed = asyncio.Event()

    def version(self) -> int:
        """The number that changes with every message."""
        return self._inbox.version()

    def pending(self, run_id: str) -> tuple[InboxMessage, ...]:
        """The messages, the second time."""
        if not self.failed.is_set():
            self.failed.set()
            raise LogLocked("the ledger is busy")
        return self._inbox.pending(run_id)


async def test_an_inbox_that_is_busy_once_does_not_make_the_dispatcher_deaf(
    tmp_path: Path, ledger: Ledger, other_process: RunControl
) -> None:
    agent, started = _waiting_agent(workspace_in(tmp_path), ledger)
    busy: Any = BusyOnce(ledger.inbox)
    host = AgentHost(agent, ledger)
    host.dispatcher = InlineDispatcher(host, Ledger(ledger.index, busy))
    paths = await host.start(RUN_ID)
    await asyncio.wait_for(started.wait(), WAIT)
    await asyncio.to_thread(other_process.send, paths, "hurry")
    await asyncio.wait_for(busy.failed.wait(), WAIT)
    await asyncio.to_thread(other_process.cancel, paths)
    assert (await host.wait(RUN_ID)).status is RunStatus.CANCELLED
    await host.drain()


async def test_a_run_that_is_told_twice_to_stop_ends_only_when_its_tool_has_let_go(
    tmp_path: Path, ledger: Ledger
) -> None:
    started, asked, released = asyncio.Event(), asyncio.Event(), asyncio.Event()
    order: list[str] = []

    async def slow_to_leave(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            asked.set()
            await released.wait()
            order.append("tool gone")
        raise AssertionError

    def listen(event: Event) -> None:
        if event.type == "run_cancelled":
            order.append("run ended")

    agent, _ = _waiting_agent(workspace_in(tmp_path), ledger, event_hooks=[listen])
    agent.register_tool(Doing(slow_to_leave), override=True)
    host = AgentHost(agent, ledger)
    await host.start(RUN_ID)
    await asyncio.wait_for(started.wait(), WAIT)
    ledger.inbox.send(RUN_ID, "cancel", {})
    await host.dispatcher.nudge(RUN_ID)
    await asyncio.wait_for(asked.wait(), WAIT)
    await host.dispatcher.nudge(RUN_ID)
    for _ in range(5):
        await asyncio.sleep(0)
    released.set()
    await host.drain()
    assert order == ["tool gone", "run ended"]


@pytest.mark.parametrize("stage", PLACES)
async def test_a_stopped_run_is_left_for_later(tmp_path: Path, ledger: Ledger, stage: Where) -> None:
    hanging, host, _ = await _start_hung_run(tmp_path, stage, ledger)
    await asyncio.wait_for(host.dispatcher.stop(RUN_ID), WAIT)
    state = host.state(RUN_ID)
    assert (state.status, state.waiting_kind, hanging.alive()) == ("waiting_for_user", "stopped", [])
    assert ledger.index.get(RUN_ID).status == "waiting_for_user"
    hanging.released.set()
    await host.drain()
    again = AgentHost(hanging.agent, ledger)
    await again.dispatcher.schedule(RUN_ID)
    assert (await again.wait(RUN_ID)).status == "completed"


async def test_a_run_stopped_before_its_turn_came_has_not_failed(tmp_path: Path, ledger: Ledger) -> None:
    agent, started = _waiting_agent(workspace_in(tmp_path), ledger)
    host = AgentHost(agent, ledger, slots=1)
    await host.start(RUN_ID)
    await asyncio.wait_for(started.wait(), WAIT)
    await host.start("run_2")
    await asyncio.wait_for(host.dispatcher.stop("run_2"), WAIT)
    assert host.state("run_2").open
    assert host.state("run_2").status in ("pending", "waiting_for_user")
    await host.dispatcher.cancel(RUN_ID)
    await host.drain()


async def test_a_cancelled_run_that_waits_for_its_turn_is_cancelled_by_a_message_too(
    tmp_path: Path, ledger: Ledger
) -> None:
    agent, started = _waiting_agent(workspace_in(tmp_path), ledger)
    host = AgentHost(agent, ledger, slots=1)
    await host.start(RUN_ID)
    await asyncio.wait_for(started.wait(), WAIT)
    await host.start("run_2")
    ledger.inbox.send("run_2", "cancel", {})
    await host.dispatcher.nudge("run_2")
    assert (await host.wait("run_2")).status == "cancelled"
    await host.dispatcher.cancel(RUN_ID)
    await host.drain()


async def test_a_message_to_a_run_that_was_cancelled_while_it_waited_for_its_turn_is_in_its_log(
    tmp_path: Path, ledger: Ledger
) -> None:
    agent, _ = _waiting_agent(workspace_in(tmp_path), ledger)
    host = AgentHost(agent, ledger, slots=0)
    paths = await host.start(RUN_ID)
    ledger.inbox.send(RUN_ID, "steer", {"text": "Hurry."})
    ledger.inbox.send(RUN_ID, "cancel", {"reason": "not needed any more"})
    await host.dispatcher.nudge(RUN_ID)
    state = await host.wait(RUN_ID)
    assert (state.status, state.failure_reason) == ("cancelled", "not needed any more")
    assert [one.kind for one in payloads_of(str(paths.events), "inbox_received")] == ["steer", "cancel"]
    assert ledger.inbox.unacknowledged_count(RUN_ID) == 0
    await host.drain()
