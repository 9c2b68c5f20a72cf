"""Processes that die, and ends that fail, when a run has looked into its inbox for the last time."""

import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent.run_ports import log_ports
from skills_runtime.engine import RunControl
from skills_runtime.errors import LogEnded, LogLocked, StorageFailed
from skills_runtime.events import Event
from skills_runtime.ports import ChatRequest, ChatStreamEvent, InboxMessage, ToolContext, ToolResult
from skills_runtime.runs import RunPaths, read_view, runs_root, verify_run
from skills_runtime.testing import FakeModel, says
from skills_runtime.testing.inbox import InMemoryInbox
from tests.support.agents import Doing, Streaming, agent_in, calls, events_of, payloads_of
from tests.support.crashes import ClosingThen, Killed, Sender, die, texts

RUN_ID = "run_1"


def _paths(directory: Path) -> RunPaths:
    return RunPaths(runs_root(directory) / RUN_ID)


def _at(event_type: str, error: BaseException) -> Callable[[Event], None]:
    """What happens when the log holds an event of this type, the first time."""
    left = [error]

    def happen(event: Event) -> None:
        if event.type == event_type and left:
            raise left.pop()

    return happen


def _dies_at_the_end(directory: Path, moment: str) -> tuple[FakeModel, InMemoryInbox]:
    """A run whose process dies between its last look and its terminal event."""
    inbox = ClosingThen(die) if moment == "closed" else InMemoryInbox()
    watched = FakeModel([says("a draft"), says("short")])
    agent = agent_in(directory, watched, inbox=inbox, hooks=[_at("artifact_manifest_written", Killed())])
    with pytest.raises(Killed):
        agent.run("Go.", run_id=RUN_ID)
    assert read_view(_paths(directory), log_ports()).state.open
    return watched, inbox


@pytest.mark.parametrize("moment", ["closed", "manifest"])
def test_a_message_to_a_run_that_died_right_before_its_end_is_received_on_resume(tmp_path: Path, moment: str) -> None:
    watched, inbox = _dies_at_the_end(tmp_path, moment)
    message = RunControl(inbox, log_ports()).send(_paths(tmp_path), "shorter please")
    result = agent_in(tmp_path, watched, inbox=inbox).run("", run_id=RUN_ID)
    assert (result.status, result.final_output) == ("completed", "short")
    (received,) = payloads_of(result.wal_locator, "inbox_received")
    assert received.message_id == message.id
    assert inbox.unacknowledged_count(RUN_ID) == 0
    assert verify_run(_paths(tmp_path).root, log_ports().keys).findings == []


def test_resuming_a_run_that_died_right_before_its_end_reads_its_inbox_again(tmp_path: Path) -> None:
    _, inbox = _dies_at_the_end(tmp_path, "closed")
    desk, paths = RunControl(inbox, log_ports()), _paths(tmp_path)

    async def say(arguments: Any, context: ToolContext) -> ToolResult:
        desk.send(paths, "while it works")
        return ToolResult(ok=True)

    inbox.open_for(RUN_ID)
    inbox.send(RUN_ID, "steer", {"text": "before"})
    inbox.close_for(RUN_ID)
    agent = agent_in(tmp_path, [says("a draft"), calls(("do", {})), says("done")], inbox=inbox)
    agent.register_tool(Doing(say))
    result = agent.run("", run_id=RUN_ID)
    assert result.status == "completed"
    assert texts(payloads_of(result.wal_locator, "inbox_received")) == ["before", "while it works"]


def test_a_run_that_died_right_before_its_end_can_be_cancelled(tmp_path: Path) -> None:
    _, inbox = _dies_at_the_end(tmp_path, "closed")
    assert RunControl(inbox, log_ports()).cancel(_paths(tmp_path)) is None
    assert events_of(str(_paths(tmp_path).events))[-1].type == "run_cancelled"


def test_a_result_whose_approval_died_right_before_its_end_can_be_sent_back(tmp_path: Path) -> None:
    inbox = ClosingThen(die)
    watched = FakeModel([says("a draft"), says("short")])
    agent = agent_in(tmp_path, watched, settings={"run": {"review": "required"}}, inbox=inbox)
    agent.run("Go.", run_id=RUN_ID)
    desk = RunControl(inbox, log_ports())
    with pytest.raises(Killed):
        desk.approve(_paths(tmp_path))
    desk.revise(_paths(tmp_path), "shorter please")
    agent.run("", run_id=RUN_ID)
    assert watched.requests[-1].messages[-1]["content"] == "shorter please"


def test_an_end_that_the_disk_refused_can_be_talked_to(tmp_path: Path) -> None:
    inbox, watched = InMemoryInbox(), FakeModel([says("a draft"), says("short")])
    full = _at("artifact_manifest_written", StorageFailed("the disk is full"))
    result = agent_in(tmp_path, watched, inbox=inbox, hooks=[full]).run("Go.", run_id=RUN_ID)
    assert result.error_kind == "storage_error"
    RunControl(inbox, log_ports()).send(_paths(tmp_path), "shorter please")
    assert agent_in(tmp_path, watched, inbox=inbox).run("", run_id=RUN_ID).final_output == "short"


@pytest.mark.parametrize("say", ["send", "cancel"])
def test_a_message_after_the_last_inbox_read_is_refused_like_one_after_the_end(tmp_path: Path, say: str) -> None:
    def speak() -> InboxMessage:
        desk, paths = RunControl(inbox, log_ports()), _paths(tmp_path)
        message = desk.send(paths, "x") if say == "send" else desk.cancel(paths)
        assert message is not None
        return message

    during, after = Sender(speak), Sender(speak)
    inbox = ClosingThen(during)
    assert agent_in(tmp_path, [says("done")], inbox=inbox).run("Go.", run_id=RUN_ID).status == "completed"
    after()
    assert during.refusal is not None
    assert after.refusal is not None
    assert (during.refusal.kind, during.refusal.hint) == (after.refusal.kind, after.refusal.hint)
    assert during.refusal.message == "the run `run_1` has ended and takes no more messages"


def test_a_message_repeated_after_the_last_inbox_read_is_the_received_one(tmp_path: Path) -> None:
    def speak() -> InboxMessage:
        return RunControl(inbox, log_ports()).send(_paths(tmp_path), "hurry", key="k")

    again = Sender(speak)
    inbox = ClosingThen(again)
    first = inbox.send(RUN_ID, "steer", {"text": "hurry"}, idempotency_key="k")
    assert agent_in(tmp_path, [says("done")], inbox=inbox).run("Go.", run_id=RUN_ID).status == "completed"
    assert again.message == first


def test_a_run_with_the_name_of_one_that_has_ended_and_is_gone_takes_messages(tmp_path: Path) -> None:
    inbox = InMemoryInbox()
    agent_in(tmp_path, [says("done")], inbox=inbox).run("Go.", run_id=RUN_ID)
    shutil.rmtree(_paths(tmp_path).root)

    async def say(arguments: Any, context: ToolContext) -> ToolResult:
        RunControl(inbox, log_ports()).send(_paths(tmp_path), "hurry")
        return ToolResult(ok=True)

    agent = agent_in(tmp_path, [calls(("do", {})), says("done")], inbox=inbox)
    agent.register_tool(Doing(say))
    result = agent.run("Go.", run_id=RUN_ID)
    assert texts(payloads_of(result.wal_locator, "inbox_received")) == ["hurry"]


def test_an_inbox_that_cannot_be_closed_does_not_keep_a_run_from_its_end(tmp_path: Path) -> None:
    class Busy(InMemoryInbox):
        def close_for(self, run_id: str, *, unless_behind: int | None = None) -> tuple[InboxMessage, ...]:
            raise LogLocked("the ledger is busy")

        def open_for(self, run_id: str) -> None:
            raise LogLocked("the ledger is busy")

    inbox = Busy()
    result = agent_in(tmp_path, [says("done")], inbox=inbox).run("Go.", run_id=RUN_ID)
    assert result.status == "completed"
    with pytest.raises(LogEnded):
        RunControl(inbox, log_ports()).send(_paths(tmp_path), "x")


async def test_a_message_to_an_ended_sub_agent_is_refused_and_the_run_continues(tmp_path: Path) -> None:
    def child() -> str:
        (begun,) = payloads_of(str(_paths(tmp_path).events), "child_run_started")
        return begun.child_run_id

    async def answer(request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        moves = [
            lambda: calls(("spawn_agent", {"message": "child task"})),
            lambda: calls(("wait", {"ids": [child()]})),
            lambda: calls(("send_input", {"id": child(), "message": "more"})),
            lambda: says("parent done"),
        ]
        grown = request.messages[-1]["content"] != "child task"
        for event in (moves[request.answered]() if grown else says("child done")).events:
            yield event

    result = await agent_in(tmp_path, Streaming(answer), inbox=InMemoryInbox()).run_async("Go.", run_id=RUN_ID)
    assert (result.status, result.final_output) == ("completed", "parent done")
    payloads = payloads_of(result.wal_locator, "tool_call_finished")[-1]
    assert (payloads.result["ok"], payloads.result["error_kind"]) == (False, "log_ended")
