"""Whoever speaks to a run while it ends is heard by it, or told that it takes no more messages."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import Agent
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.clock import RandomIds, SystemClock
from skills_runtime.engine import RunControl
from skills_runtime.ledger import SqliteInbox, open_ledger
from skills_runtime.llm import FakeChatCall
from skills_runtime.ports import Inbox, ToolContext, ToolResult
from skills_runtime.runs import RunPaths, runs_root, verify_run
from skills_runtime.testing import says
from tests.support.agents import Doing, agent_in, calls, events_of, payloads_of
from tests.support.crashes import Moments, Sender
from tests.support.examples import examples

RUN_ID, NAME = "run_1", "the run"
Make = Callable[[Path, Inbox], Agent]
SPREAD = examples(24)
"""Moments tried of each end, besides those around the change from being heard to being refused."""


def completing(directory: Path, inbox: Inbox) -> Agent:
    return agent_in(directory, [says("a draft"), says("done"), says("done again")], inbox=inbox)


def failing(directory: Path, inbox: Inbox) -> Agent:
    looks: list[FakeChatCall] = [calls(("list_dir", {"dir_path": "."}), ("list_dir", {"dir_path": "."}))]
    return agent_in(directory, looks, settings={"run": {"max_steps": 1}}, inbox=inbox)


def cancelled_by_message(directory: Path, inbox: Inbox) -> Agent:
    async def cancel(arguments: Any, context: ToolContext) -> ToolResult:
        inbox.send(RUN_ID, "cancel", {"reason": "enough"})
        return ToolResult(ok=True)

    agent = agent_in(directory, [calls(("do", {}))], inbox=inbox)
    agent.register_tool(Doing(cancel))
    return agent


def interrupted(directory: Path, inbox: Inbox) -> Agent:
    async def hang(arguments: Any, context: ToolContext) -> ToolResult:
        (run,) = (task for task in asyncio.all_tasks() if task.get_name() == NAME)
        run.cancel()
        await asyncio.Event().wait()
        return ToolResult(ok=True)

    agent = agent_in(directory, [calls(("do", {}))], inbox=inbox)
    agent.register_tool(Doing(hang))
    return agent


ENDS = {
    "run_completed": completing,
    "run_failed": failing,
    "run_cancelled": cancelled_by_message,
    "interrupted": interrupted,
}


@pytest.fixture
def doors(tmp_path: Path) -> Iterator[tuple[SqliteInbox, SqliteInbox]]:
    """The inbox as the run has it, and as another process has it."""
    home = tmp_path / "state"
    with (
        open_ledger(home, clock=SystemClock(), ids=RandomIds()) as ledger,
        open_ledger(home, clock=SystemClock(), ids=RandomIds()) as other,
    ):
        yield ledger.inbox, other.inbox


class Trial:
    """A run to whom something is said at one moment of its end."""

    def __init__(self, directory: Path, make: Make, doors: tuple[SqliteInbox, SqliteInbox], at: int) -> None:
        directory.mkdir()
        self.inbox, other = doors
        self.inbox.open_for(RUN_ID)
        self.paths = RunPaths(runs_root(directory) / RUN_ID)
        desk = RunControl(other, log_ports())
        self.sender = Sender(lambda: desk.send(self.paths, f"said at {at}"))
        self.moments = Moments(at, self.sender)
        with self.moments.watched():
            asyncio.run(self._work(make(directory, self.inbox)))
        if self.moments.count < at:
            self.sender()  # the run made a call less than the one that was counted

    async def _work(self, agent: Agent) -> None:
        work = asyncio.create_task(agent.run_async("Go.", run_id=RUN_ID), name=NAME)
        with suppress(asyncio.CancelledError):
            await work

    def is_received(self) -> bool:
        """Whether the run was told, and has said so; it has ended, and nothing waits."""
        locator = str(self.paths.events)
        received = [payload.body.get("text") for payload in payloads_of(locator, "inbox_received")]
        message = self.sender.message
        assert (message is None) != (self.sender.refusal is None), "it was neither accepted nor refused"
        assert received.count(f"said at {self.moments.at}") == (message is not None)
        assert list(self.inbox.pending(RUN_ID)) == []
        assert events_of(locator)[-1].type in ("run_completed", "run_failed", "run_cancelled")
        assert verify_run(self.paths.root, log_ports().keys).findings == []
        return message is not None


@pytest.mark.slow
@pytest.mark.parametrize("end", ENDS)
def test_a_message_at_any_moment_of_the_end_is_received_or_refused(
    tmp_path: Path, end: str, doors: tuple[SqliteInbox, SqliteInbox]
) -> None:
    tried: dict[int, bool] = {}

    def heard_at(moment: int) -> bool:
        if moment not in tried:
            tried[moment] = Trial(tmp_path / str(moment), ENDS[end], doors, moment).is_received()
        return tried[moment]

    silent = Trial(tmp_path / "silent", ENDS[end], doors, 0)
    last = silent.moments.count
    for number in range(SPREAD + 1):
        heard_at(1 + number * (last - 1) // SPREAD)
    first, refused = 1, last
    while refused - first > 1:
        middle = (first + refused) // 2
        first, refused = (middle, refused) if heard_at(middle) else (first, middle)
    assert tried[first]
    assert not tried[refused]
    assert [tried[moment] for moment in sorted(tried)] == [moment <= first for moment in sorted(tried)]
