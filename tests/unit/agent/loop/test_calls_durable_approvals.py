"""Approvals that outlive their process: asked, left, decided from elsewhere, and good for exactly one call."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from skills_runtime.agent import Agent
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.engine import RunControl
from skills_runtime.errors import ApprovalStale, LogCorrupt
from skills_runtime.llm import FakeChatCall
from skills_runtime.ports import Decision, InboxMessage, Intent, ToolContext, ToolResult, ToolSpec
from skills_runtime.projections import RunView
from skills_runtime.projections.approvals import PendingApproval
from skills_runtime.runs import RunPaths, read_view, runs_root
from skills_runtime.safety import InboxApprovals
from skills_runtime.testing import InMemoryInbox, says
from tests.support.agents import Answering, Doing, agent_in, calls, payloads_of, succeed, writes
from tests.support.runs import rewrite_line

YES, NO = Decision(decision="approved", decided_by="ann"), Decision(decision="denied", note="use another name")


class Script:
    """A tool whose call runs a script, so that an approval holds for the script's content."""

    def __init__(self, path: Path) -> None:
        self.spec = ToolSpec(name="script", description="Runs it.", parameters={"type": "object"})
        self.ran: list[str] = []
        self._path = path

    async def intent(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """What it would run."""
        return Intent(argv=("sh", str(self._path)), digests={"script": self._path.read_text()})

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Run it."""
        self.ran.append(self._path.read_text())
        return ToolResult(ok=True)


class Place:
    """A workspace whose runs leave their approvals for later."""

    def __init__(self, root: Path, script: list[FakeChatCall], tool: Any = None) -> None:
        self.root = root
        self.inbox = InMemoryInbox()
        self.script = script
        self.tool = tool
        self.paths = RunPaths(runs_root(root) / "r")
        self.desk = RunControl(self.inbox, log_ports())

    def agent(self, approver: Any = None) -> Agent:
        agent = agent_in(self.root, self.script, mode="ask", approver=approver or InboxApprovals(), inbox=self.inbox)
        if self.tool is not None:
            agent.register_tool(self.tool)
        return agent

    def work(self) -> Any:
        """As another process would: with nothing but what the disk and the inbox hold."""
        return self.agent().run("Go.", run_id="r")

    def view(self) -> RunView:
        return read_view(self.paths, log_ports())

    def pending(self) -> PendingApproval:
        (approval,) = self.view().pending.approvals.open.values()
        return approval

    def all(self, event_type: str) -> list[Any]:
        return payloads_of(str(self.paths.events), event_type)


@pytest.fixture
def directory(tmp_path: Path) -> Place:
    return Place(tmp_path, [calls(writes("a.txt", "one")), says("done")])


def test_an_unattended_run_waits_for_its_approval(directory: Place) -> None:
    assert directory.work().status == "waiting_human"
    assert directory.pending().tool == "file_write"
    assert not (directory.root / "a.txt").exists()


def test_a_decision_from_elsewhere_lets_exactly_that_call_run(directory: Place) -> None:
    directory.work()
    directory.desk.decide(directory.paths, YES)
    assert directory.work().status == "completed"
    assert (directory.root / "a.txt").read_text() == "one"
    (decided,) = directory.all("approval_decided")
    assert (decided.decision, decided.reason, decided.decided_by) == ("approved", "inbox", "ann")
    assert len(directory.all("approval_requested")) == 1


def test_a_run_that_is_resumed_without_a_decision_asks_nothing_twice(directory: Place) -> None:
    directory.work()
    first = directory.pending()
    assert directory.work().status == "waiting_human"
    assert directory.pending() == first
    assert len(directory.all("approval_requested")) == 1


def test_a_denial_from_elsewhere_tells_the_model_why(directory: Place) -> None:
    directory.work()
    directory.desk.decide(directory.paths, NO)
    assert directory.work().status == "completed"
    (finished,) = directory.all("tool_call_finished")
    assert finished.result["stderr"] == "the approver said: denied (use another name)"
    assert not (directory.root / "a.txt").exists()


def test_an_abort_from_elsewhere_cancels_the_run(directory: Place) -> None:
    directory.work()
    directory.desk.decide(directory.paths, Decision(decision="abort", note="enough"))
    result = directory.work()
    assert (result.status, result.final_output) == ("cancelled", "the approver stopped the run (enough)")


def test_the_same_call_denied_twice_ends_the_run(tmp_path: Path) -> None:
    again = [calls(writes("a.txt", "one")), calls(writes("a.txt", "one")), says("never said")]
    result = agent_in(tmp_path, again, mode="ask", approver=Answering("denied", "denied")).run("Go.")
    assert (result.status, result.error_kind) == ("failed", "approval_denied")


def test_two_different_calls_may_be_denied(tmp_path: Path) -> None:
    script = [calls(writes("a.txt", "one")), calls(writes("a.txt", "two")), says("I see")]
    result = agent_in(tmp_path, script, mode="ask", approver=Answering("denied", "denied")).run("Go.")
    assert result.status == "completed"


def test_a_script_that_changed_before_the_decision_needs_approval_again(tmp_path: Path) -> None:
    path = tmp_path / "script.sh"
    path.write_text("echo one")
    setup = Place(tmp_path, [calls(("script", {})), says("done")], tool := Script(path))
    setup.work()
    first = setup.pending()
    setup.desk.decide(setup.paths, YES)
    path.write_text("echo two")
    assert setup.work().status == "waiting_human"
    assert tool.ran == []
    (refused,) = setup.all("approval_refused")
    assert (refused.reason, refused.approval_id) == ("changed", first.approval_id)
    assert setup.pending().approval_id != first.approval_id
    setup.desk.decide(setup.paths, YES)
    assert setup.work().status == "completed"
    assert tool.ran == ["echo two"]


def test_a_file_that_changed_before_the_decision_needs_approval_again(directory: Place) -> None:
    directory.work()
    directory.desk.decide(directory.paths, YES)
    (directory.root / "a.txt").write_text("somebody else's")
    assert directory.work().status == "waiting_human"
    assert (directory.root / "a.txt").read_text() == "somebody else's"


def test_a_script_that_changes_while_an_answer_is_pending_needs_approval_again(tmp_path: Path) -> None:
    path = tmp_path / "script.sh"
    path.write_text("echo one")
    tool = Script(path)

    class Changing(Answering):
        async def request_approval(self, *, request: Any, timeout_ms: int | None = None) -> Any:
            if not self.asked:
                path.write_text("echo two")
            return await super().request_approval(request=request, timeout_ms=timeout_ms)

    approver = Changing("approved", "approved")
    agent = agent_in(tmp_path, [calls(("script", {})), says("done")], mode="ask", approver=approver)
    agent.register_tool(tool)
    assert agent.run("Go.").status == "completed"
    assert tool.ran == ["echo two"]
    assert len(approver.asked) == 2


def test_a_second_decision_is_refused(directory: Place) -> None:
    directory.work()
    directory.desk.decide(directory.paths, YES)
    with pytest.raises(ApprovalStale, match="decided already"):
        directory.desk.decide(directory.paths, NO)


def test_a_decision_on_what_was_decided_is_refused_and_recorded(directory: Place) -> None:
    directory.script = [calls(writes("a.txt", "one")), calls(writes("b.txt", "two")), says("done")]
    directory.work()
    first = directory.pending()
    directory.desk.decide(directory.paths, YES)
    assert directory.work().status == "waiting_human"
    body = {"run_id": "r", "approval_id": first.approval_id, "approval_key": first.approval_key, "decision": "approved"}
    directory.inbox.send("r", "approve", body)
    assert directory.work().status == "waiting_human"
    assert not (directory.root / "b.txt").exists()
    (refused,) = directory.all("approval_refused")
    assert refused.reason == "unknown"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"approval_id": "approval_0000"}, "unknown"),
        ({"approval_key": "0" * 64}, "changed"),
        ({"run_id": "another"}, "elsewhere"),
        ({"run_id": None}, "elsewhere"),
        ({"decision": "yes"}, "malformed"),
        ({"decision": ["approved"]}, "malformed"),
        ({"decision": None}, "malformed"),
        ({"approval_id": {"a": 1}}, "unknown"),
    ],
)
def test_a_decision_that_does_not_fit_is_refused_and_recorded(
    directory: Place, change: dict[str, Any], reason: str
) -> None:
    directory.work()
    approval = directory.pending()
    body = {
        "run_id": "r",
        "approval_id": approval.approval_id,
        "approval_key": approval.approval_key,
        "decision": "approved",
    }
    directory.inbox.send("r", "approve", body | change)
    assert directory.work().status == "waiting_human"
    assert [payload.reason for payload in directory.all("approval_refused")] == [reason]
    assert directory.pending() == approval
    assert not (directory.root / "a.txt").exists()


def test_changed_arguments_are_what_runs_and_the_model_is_told(directory: Place) -> None:
    directory.work()
    edited = {"path": "b.txt", "content": "two"}
    directory.desk.decide(directory.paths, Decision(decision="approved", arguments=edited))
    assert directory.work().status == "completed"
    assert (directory.root / "b.txt").read_text() == "two"
    assert not (directory.root / "a.txt").exists()
    (finished,) = directory.all("tool_call_finished")
    assert finished.result["data"]["arguments_changed_by_approver"]["path"] == "b.txt"


def test_changed_arguments_still_obey_what_denies(directory: Place) -> None:
    directory.work()
    edited = {"path": ".skills_runtime_sdk/x", "content": "two"}
    directory.desk.decide(directory.paths, Decision(decision="approved", arguments=edited))
    assert directory.work().status == "completed"
    (finished,) = directory.all("tool_call_finished")
    assert finished.result["stderr"].startswith("denied by")
    assert not (directory.root / ".skills_runtime_sdk" / "x").exists()


def test_what_was_approved_for_the_session_needs_no_approval_again(tmp_path: Path) -> None:
    tool = Doing(succeed)
    setup = Place(
        tmp_path, [calls(("do", {"n": 1})), calls(("do", {"n": 1})), calls(("do", {"n": 2})), says("ok")], tool
    )
    setup.work()
    setup.desk.decide(setup.paths, Decision(decision="approved_for_session", decided_by="ann"))
    assert setup.work().status == "waiting_human"
    assert tool.times == 2
    assert [payload.reason for payload in setup.all("approval_decided")] == ["inbox", "session"]


def test_an_agent_remembers_for_its_other_runs(tmp_path: Path) -> None:
    tool, approver = Doing(succeed), Answering("approved_for_session")
    script = [calls(("do", {})), says("ok")]
    agent = agent_in(tmp_path, script, mode="ask", approver=approver)
    agent.register_tool(tool)
    assert [agent.run("Go.").status, agent.run("Again.").status] == ["completed", "completed"]
    assert (tool.times, len(approver.asked)) == (2, 1)


def test_a_decision_after_the_request_expired_is_refused_and_asked_again(directory: Place) -> None:
    directory.work()
    approval = directory.pending()
    body = {
        "run_id": "r",
        "approval_id": approval.approval_id,
        "approval_key": approval.approval_key,
        "decision": "approved",
    }
    late = InMemoryInbox(clock=_At("2099-01-01T00:00:00.000000Z"))
    late.send("r", "approve", body)
    directory.inbox = late
    assert directory.work().status == "waiting_human"
    assert [payload.reason for payload in directory.all("approval_refused")] == ["expired"]
    assert not (directory.root / "a.txt").exists()


def test_how_long_a_request_stays_open_is_a_setting(tmp_path: Path) -> None:
    settings = {"safety": {"mode": "ask", "approval_expires_sec": 60}}
    agent = agent_in(
        tmp_path, [calls(writes("a.txt", "one")), says("done")], settings=settings, approver=InboxApprovals()
    )
    (payload,) = payloads_of(agent.run("Go.").wal_locator, "approval_requested")
    since = datetime.fromisoformat(payload.expires_at) - datetime.now(UTC)
    assert since < timedelta(seconds=61)


def test_a_decision_in_time_counts_however_late_the_run_continues(directory: Place) -> None:
    directory.work()
    approval = directory.pending()
    assert approval.expires_at > approval.since
    directory.desk.decide(directory.paths, YES)
    assert directory.work().status == "completed"


class _At:
    def __init__(self, now: str) -> None:
        self._now = now

    def now(self) -> str:
        return self._now

    def monotonic(self) -> float:
        return 0.0


def test_a_forged_decision_in_the_log_does_not_count(directory: Place) -> None:
    directory.work()
    approval = directory.pending()
    *_, last = directory.paths.events.read_bytes().splitlines()
    line = msgspec.json.decode(last)
    forged = line | {
        "seq": line["seq"] + 1,
        "type": "approval_decided",
        "payload": {
            "approval_key": approval.approval_key,
            "approval_id": approval.approval_id,
            "decision": "approved",
            "call_id": approval.call_id,
        },
    }
    with directory.paths.events.open("ab") as file:
        file.write(msgspec.json.encode(forged) + b"\n")
    assert directory.work().status == "waiting_human"  # a line without its seal is set aside, and the log says so
    assert directory.all("log_repaired")
    assert not directory.all("approval_decided")
    assert not (directory.root / "a.txt").exists()


def test_a_decision_forged_into_the_middle_stops_everything(directory: Place) -> None:
    directory.work()
    rewrite_line(directory.paths, 5, lambda line: line.update(type="approval_decided"))
    with pytest.raises(LogCorrupt):
        directory.work()
    assert not (directory.root / "a.txt").exists()


def test_the_second_of_two_concurrent_decisions_is_refused(directory: Place) -> None:
    class Unseen(InMemoryInbox):
        """Messages that the other has not seen yet."""

        def pending(self, run_id: str) -> tuple[InboxMessage, ...]:
            return ()

    directory.work()
    desk = RunControl(Unseen(), log_ports())
    desk.decide(directory.paths, YES)
    with pytest.raises(ApprovalStale, match="has already been decided"):
        desk.decide(directory.paths, NO)
