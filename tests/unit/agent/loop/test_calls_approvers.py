"""People who decide: at the same time, twice, too late, from elsewhere, or not at all."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from skills_runtime.agent import Agent
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.llm import FakeChatCall, ScriptedBackend
from skills_runtime.ports import ApprovalRequest, ChatRequest, ChatStreamEvent, Decision, DecisionKind, InboxMessage
from skills_runtime.runs import read_view
from skills_runtime.testing import InMemoryInbox, says
from tests.support.agents import Answering, Streaming, calls, writes
from tests.unit.safety.approvals.stage import RUN, Stage, Yes

ASK_TO_READ = "rules:\n- name: look\n  effect: ask\n  tool: [file_read, list_dir]\n"
TWO_WRITES = [calls(writes("a.txt", "one"), writes("b.txt", "two"), ids=["a", "b"]), says("done")]


def one_write(directory: Path) -> Stage:
    return Stage(directory, [calls(writes("a.txt", "one")), says("done")])


@pytest.mark.parametrize("second", ["approved", "denied", "abort"])
def test_the_second_of_two_decisions_is_refused_and_recorded(tmp_path: Path, second: str) -> None:
    stage = one_write(tmp_path)
    stage.work()
    stage.send()
    stage.send(decision=second)
    assert stage.work().status == "completed"
    assert len(stage.all("approval_decided")) == 1
    assert len(stage.all("approval_refused")) == 1


def test_the_first_of_two_decisions_counts(tmp_path: Path) -> None:
    stage = one_write(tmp_path)
    stage.work()
    stage.send(decision="denied")
    stage.send(decision="approved")
    assert stage.work().status == "completed"
    assert stage.files() == []


def test_a_decision_that_comes_while_the_approver_says_the_opposite_counts_once(tmp_path: Path) -> None:
    stage = one_write(tmp_path)

    class Meanwhile:
        async def request_approval(self, *, request: ApprovalRequest, timeout_ms: int | None = None) -> DecisionKind:
            body = {"run_id": RUN, "approval_id": request.approval_id, "approval_key": request.approval_key}
            stage.inbox.send(RUN, "approve", {**body, "decision": "denied"})
            return "approved"

    assert stage.work(Meanwhile()).status == "completed"
    (decided,) = stage.all("approval_decided")
    assert (decided.decision, decided.reason) == ("denied", "inbox")
    assert stage.files() == []


def test_two_calls_of_one_answer_need_approval_in_turn(tmp_path: Path) -> None:
    stage = Stage(tmp_path, TWO_WRITES)
    for name in ("a.txt", "b.txt"):
        assert stage.work().status == "waiting_human"
        assert name in stage.asked().summary
        stage.decide()
    assert stage.work().status == "completed"
    assert stage.files() == ["a.txt", "b.txt"]


def test_a_decision_on_one_call_does_not_apply_to_the_next(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [calls(writes("a.txt", "one")), calls(writes("a.txt", "one")), says("done")])
    stage.work()
    stage.decide()
    (tmp_path / "a.txt").unlink(missing_ok=True)
    assert stage.work().status == "waiting_human"
    assert len(stage.all("tool_call_started")) == 1


def reading(directory: Path) -> Stage:
    """A run that reads two things at the same time, both of which somebody must be asked about."""
    (directory / "config").mkdir()
    (directory / "config" / "rules.yaml").write_text(ASK_TO_READ)
    (directory / "x").write_text("x")
    both = calls(("file_read", {"path": "x"}), ("list_dir", {"dir_path": "."}), ids=["a", "b"])
    return Stage(directory, [both, says("done")])


def test_reading_calls_that_wait_together_are_decided_one_by_one_and_in_any_order(tmp_path: Path) -> None:
    stage = reading(tmp_path)
    assert stage.work().status == "waiting_human"
    first, second = read_view(stage.paths, log_ports()).pending.approvals.open.values()
    for approval, decision in ((second, "approved"), (first, "denied")):
        body = {"run_id": RUN, "approval_id": approval.approval_id, "approval_key": approval.approval_key}
        stage.inbox.send(RUN, "approve", {**body, "decision": decision})
    assert stage.work().status == "completed"
    results = {payload.call_id: payload.result["ok"] for payload in stage.all("tool_call_finished")}
    assert results == {"a": False, "b": True}


def test_one_of_two_reading_calls_may_continue_while_the_other_waits(tmp_path: Path) -> None:
    stage = reading(tmp_path)
    stage.work()
    _, second = read_view(stage.paths, log_ports()).pending.approvals.open.values()
    body = {"run_id": RUN, "approval_id": second.approval_id, "approval_key": second.approval_key}
    stage.inbox.send(RUN, "approve", {**body, "decision": "approved"})
    assert stage.work().status == "waiting_human"
    assert [payload.call_id for payload in stage.all("tool_call_finished")] == ["b"]
    assert stage.asked().call_id == "a"


class Hanging:
    """Somebody who was asked and never answers."""

    async def request_approval(self, *, request: ApprovalRequest, timeout_ms: int | None = None) -> DecisionKind:
        await asyncio.Event().wait()
        return "approved"


def test_a_run_that_is_cancelled_while_an_answer_is_pending_ends_and_runs_nothing(tmp_path: Path) -> None:
    stage = one_write(tmp_path)
    stage.inbox.send(RUN, "steer", {"text": "hello"})

    class Cancelling(Hanging):
        async def request_approval(self, *, request: ApprovalRequest, timeout_ms: int | None = None) -> DecisionKind:
            stage.inbox.send(RUN, "cancel", {"reason": "never mind"})
            return await super().request_approval(request=request, timeout_ms=timeout_ms)

    result = stage.work(Cancelling())
    assert (result.status, result.final_output) == ("cancelled", "never mind")
    assert stage.files() == []


class Clock:
    """A clock that somebody moves."""

    def __init__(self) -> None:
        self.at = "2030-01-01T00:00:00.000000Z"

    def now(self) -> str:
        return self.at

    def monotonic(self) -> float:
        return 0.0


def moved(agent: Agent, clock: Clock) -> Agent:
    """The agent with another clock."""
    ports = agent._log_ports  # pyright: ignore[reportPrivateUsage]
    agent._log_ports = msgspec.structs.replace(ports, clock=clock)  # pyright: ignore[reportPrivateUsage]
    return agent


def test_a_decision_after_the_request_expired_is_too_late(tmp_path: Path) -> None:
    clock = Clock()

    class Slow:
        times = 0

        async def request_approval(self, *, request: ApprovalRequest, timeout_ms: int | None = None) -> DecisionKind:
            self.times += 1
            if self.times > 1:
                return "denied"
            clock.at = "2040-01-01T00:00:00.000000Z"
            return "approved"

    stage = one_write(tmp_path)
    moved(stage.agent(Slow()), clock).run("Go.", run_id=RUN)
    assert stage.files() == []


@pytest.mark.parametrize(("behind", "status"), [("Z", "completed"), ("1Z", "waiting_human")])
def test_a_request_can_be_decided_up_to_the_moment_it_expires(tmp_path: Path, behind: str, status: str) -> None:
    stage = one_write(tmp_path)
    clock = Clock()
    moved(stage.agent(), clock).run("Go.", run_id=RUN)
    clock.at = stage.asked().expires_at.replace("000Z", f"000{behind}"[-4:])
    stage.inbox = InMemoryInbox(clock=clock)
    stage.send()
    assert stage.work().status == status


def test_typing_that_was_approved_for_the_session_is_not_approved_for_another_program(tmp_path: Path) -> None:
    def script(program: str) -> list[FakeChatCall]:
        start = calls(("exec_command", {"cmd": program, "yield_time_ms": 50}), ids=["s"])
        return [start, calls(("write_stdin", {"session_id": 1, "chars": "y\n"}), ids=["t"]), says("done")]

    def stream(request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        again = any(message["content"] == "Again." for message in request.messages)
        return ScriptedBackend(script("cat >made.txt" if again else "cat")).stream_chat(request)

    approver = Answering("approved", "approved_for_session", "approved", "denied")
    agent = Stage(tmp_path, []).agent(approver, backend=Streaming(stream))
    for task in ("Go.", "Again."):
        agent.run(task)
    assert [question.tool for question in approver.asked] == ["exec_command", "write_stdin"] * 2


def test_a_decision_in_the_inbox_of_another_run_is_ignored(tmp_path: Path) -> None:
    stage = one_write(tmp_path)
    stage.work()
    approval = stage.asked()
    body = {"run_id": "other", "approval_id": approval.approval_id, "approval_key": approval.approval_key}
    sent: InboxMessage = stage.inbox.send("other", "approve", {**body, "decision": "approved"})
    assert sent.run_id == "other"
    assert stage.work().status == "waiting_human"


def test_a_decision_says_nothing_about_a_call_of_another_answer_with_the_same_id(tmp_path: Path) -> None:
    same = [calls(writes(name, "x"), ids=["same"]) for name in ("a.txt", "b.txt")]
    stage = Stage(tmp_path, [*same, says("done")])
    approver = Answering("approved", "denied")
    stage.work(approver)
    assert stage.files() == ["a.txt"]
    assert len(approver.asked) == 2


def test_what_the_approver_sees_is_what_runs(tmp_path: Path) -> None:
    raw = '{"path": "a.txt", "content": "one", "path": "b.txt"}'
    approver = Yes()
    stage = Stage(tmp_path, [calls(("file_write", raw)), says("done")])
    stage.work(approver)
    assert [request.details["path"] for request in approver.asked] == stage.files() == ["b.txt"]
    assert json.loads(raw)["path"] == "b.txt"


def test_an_abort_of_one_call_stops_those_beside_it(tmp_path: Path) -> None:
    stage = reading(tmp_path)
    assert stage.work(Answering(Decision(decision="abort"), "approved")).status == "cancelled"


def test_an_approver_is_told_the_path_of_the_workspace(tmp_path: Path) -> None:
    approver = Yes()
    assert one_write(tmp_path).work(approver).status == "completed"
    assert [request.workspace for request in approver.asked] == [str(tmp_path)]
