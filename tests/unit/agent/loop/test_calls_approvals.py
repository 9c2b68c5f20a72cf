"""The gate inside the loop: who is asked, what is shown, what is kept, and what a no means."""

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent.run_ports import log_ports
from skills_runtime.ports import ApprovalRequest, DecisionKind
from skills_runtime.runs import RunPaths, read_view
from skills_runtime.testing import FakeModel, says
from tests.support.agents import Answering, Doing, agent_in, calls, events_of, payloads_of, succeed, writes

SECRET = "the launch code is 0000"
SCRIPT = [calls(writes("a.txt", SECRET)), says("I see.")]


def _tool_result(backend: FakeModel) -> dict[str, Any]:
    (message,) = [request for request in backend.requests[-1].messages if request["role"] == "tool"]
    return json.loads(message["content"])


def test_a_call_denied_by_mode_has_no_effect_and_the_model_is_told(tmp_path: Path) -> None:
    backend = FakeModel(SCRIPT)
    result = agent_in(tmp_path, backend, mode="deny").run("Go.")
    assert result.status == "completed"
    assert (_tool_result(backend)["error_kind"], _tool_result(backend)["stderr"]) == (
        "permission",
        "denied by safety.mode: deny",
    )
    assert not (tmp_path / "a.txt").exists()
    assert not payloads_of(result.wal_locator, "tool_call_started")


def test_reading_is_denied_by_mode_too(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    backend = FakeModel([calls(("file_read", {"path": "a.txt"})), says("I see.")])
    agent_in(tmp_path, backend, mode="deny").run("Go.")
    assert _tool_result(backend)["error_kind"] == "permission"


def test_reading_needs_no_approval(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    backend = FakeModel([calls(("file_read", {"path": "a.txt"})), says("I see.")])
    result = agent_in(tmp_path, backend, mode="ask").run("Go.")
    assert _tool_result(backend)["stdout"] == "x"
    assert not payloads_of(result.wal_locator, "approval_requested")


@pytest.mark.parametrize("mode", ["ask", "allow"])
def test_a_tool_on_the_denylist_is_refused_whatever_the_mode(tmp_path: Path, mode: str) -> None:
    backend = FakeModel(SCRIPT)
    settings = {"safety": {"mode": mode, "tool_denylist": ["file_write"], "tool_allowlist": ["file_write"]}}
    agent_in(tmp_path, backend, settings=settings).run("Go.")
    assert _tool_result(backend)["stderr"] == "denied by safety.tool_denylist"
    assert not (tmp_path / "a.txt").exists()


def test_a_tool_on_the_allowlist_needs_no_approval(tmp_path: Path) -> None:
    settings = {"safety": {"mode": "ask", "tool_allowlist": ["file_write"]}}
    assert agent_in(tmp_path, SCRIPT, settings=settings).run("Go.").status == "completed"
    assert (tmp_path / "a.txt").read_text() == SECRET


def test_without_an_approver_the_run_fails_before_anything_ran(tmp_path: Path) -> None:
    tool = Doing(succeed)
    reading = Doing(succeed, name="look", effect="read")
    agent = agent_in(tmp_path, [calls(("look", {}), ("do", {}), writes("a.txt", "x")), says("I see.")], mode="ask")
    agent.register_tool(tool)
    agent.register_tool(reading)
    result = agent.run("Go.")
    assert (result.status, result.error_kind) == ("failed", "config_error")
    assert (tool.times, reading.times) == (0, 0)
    assert [path.name for path in tmp_path.iterdir()] == [".skills_runtime_sdk"]
    types = {event.type for event in events_of(result.wal_locator)}
    assert not types & {"tool_call_started", "approval_requested", "file_operation"}
    (failed,) = payloads_of(result.wal_locator, "run_failed")
    assert "--approvals inbox" in failed.details["hint"]


@pytest.mark.parametrize("decision", ["approved", "approved_for_session"])
def test_an_approved_call_runs(tmp_path: Path, decision: DecisionKind) -> None:
    approver = Answering(decision)
    result = agent_in(tmp_path, SCRIPT, mode="ask", approver=approver).run("Go.")
    assert (tmp_path / "a.txt").read_text() == SECRET
    (decided,) = payloads_of(result.wal_locator, "approval_decided")
    assert (decided.decision, decided.reason) == (decision, "provider")


def test_a_denied_call_has_no_effect_and_the_model_is_told(tmp_path: Path) -> None:
    backend = FakeModel(SCRIPT)
    result = agent_in(tmp_path, backend, mode="ask", approver=Answering("denied")).run("Go.")
    assert result.status == "completed"
    assert (_tool_result(backend)["ok"], _tool_result(backend)["error_kind"]) == (False, "permission")
    assert not (tmp_path / "a.txt").exists()
    assert not payloads_of(result.wal_locator, "tool_call_started")


@pytest.mark.parametrize("answer", ["yes", "approvedish", "APPROVED", "", None, True, 1])
def test_only_a_clear_yes_is_a_yes(tmp_path: Path, answer: Any) -> None:
    backend = FakeModel(SCRIPT)
    result = agent_in(tmp_path, backend, mode="ask", approver=Answering(answer)).run("Go.")
    assert not (tmp_path / "a.txt").exists()
    assert (result.status, result.error_kind) == ("failed", "config_error")
    assert result.final_output == f"the approver returned `{answer!r}`, which is not a decision"
    assert payloads_of(result.wal_locator, "approval_decided") == []
    assert len(backend.requests) == 1


def test_an_approver_can_cancel_the_run(tmp_path: Path) -> None:
    result = agent_in(tmp_path, SCRIPT, mode="ask", approver=Answering("abort")).run("Go.")
    assert result.status == "cancelled"
    assert not (tmp_path / "a.txt").exists()


def test_a_failing_approver_fails_the_run_and_nothing_runs(tmp_path: Path) -> None:
    result = agent_in(tmp_path, SCRIPT, mode="ask", approver=Answering()).run("Go.")
    assert (result.status, result.error_kind) == ("failed", "unknown")
    assert "IndexError" in result.final_output
    assert not (tmp_path / "a.txt").exists()


class Silent:
    """An approver that never answers."""

    async def request_approval(self, *, request: ApprovalRequest, timeout_ms: int | None = None) -> DecisionKind:
        """Wait for ever."""
        await asyncio.Event().wait()
        raise AssertionError


IMPATIENT = {"safety": {"mode": "ask", "approval_timeout_ms": 10}}


def test_an_approval_timeout_parks_the_run_and_decides_nothing(tmp_path: Path) -> None:
    backend = FakeModel(SCRIPT)
    agent = agent_in(tmp_path, backend, settings=IMPATIENT, approver=Silent())
    result = agent.run("Go.")
    assert (result.status, len(backend.requests)) == ("waiting_human", 1)
    assert payloads_of(result.wal_locator, "approval_decided") == []
    assert not (tmp_path / "a.txt").exists()
    pending = read_view(RunPaths(Path(result.wal_locator).parent), log_ports()).pending.approvals
    assert (len(pending.open), pending.denials) == (1, {})


def test_a_run_that_nobody_answered_often_goes_on_when_somebody_does(tmp_path: Path) -> None:
    backend = FakeModel(SCRIPT)
    result = agent_in(tmp_path, backend, settings=IMPATIENT, approver=Silent()).run("Go.")
    root = Path(result.wal_locator).parent
    for _ in range(2):
        again = agent_in(tmp_path, backend, settings=IMPATIENT, approver=Silent()).run("Go.", run_id=root.name)
        assert again.status == "waiting_human"
    done = agent_in(tmp_path, backend, mode="ask", approver=Answering("approved")).run("Go.", run_id=root.name)
    assert (done.status, len(payloads_of(done.wal_locator, "approval_requested"))) == ("completed", 1)
    assert (tmp_path / "a.txt").read_text() == SECRET


def test_the_request_is_durable_before_asking(tmp_path: Path) -> None:
    seen: list[str] = []

    class Looking(Answering):
        async def request_approval(self, *, request: ApprovalRequest, timeout_ms: int | None = None) -> DecisionKind:
            (root,) = (tmp_path / ".skills_runtime_sdk" / "runs").iterdir()
            seen.append(events_of(str(root / "events.jsonl"))[-1].type)
            return await super().request_approval(request=request, timeout_ms=timeout_ms)

    agent_in(tmp_path, SCRIPT, mode="ask", approver=Looking("approved")).run("Go.")
    assert seen == ["approval_requested"]


def test_the_approver_sees_the_content_and_the_log_does_not(tmp_path: Path) -> None:
    approver = Answering("approved")
    result = agent_in(tmp_path, SCRIPT, mode="ask", approver=approver).run("Go.")
    assert approver.asked[0].details == {"path": "a.txt", "content": SECRET}
    assert (approver.asked[0].tool, "a.txt" in approver.asked[0].summary) == ("file_write", True)
    assert SECRET not in approver.asked[0].summary
    assert SECRET.encode() not in Path(result.wal_locator).read_bytes()


def test_a_changed_request_has_a_changed_key(tmp_path: Path) -> None:
    approver = Answering("approved", "approved", "approved")
    tool = Doing(succeed)
    script = [calls(("do", {"n": 1})), calls(("do", {"n": 2})), calls(("do", {"n": 1})), says("ok")]
    agent = agent_in(tmp_path, script, mode="ask", approver=approver)
    agent.register_tool(tool)
    agent.run("Go.")
    first, second, third = (request.approval_key for request in approver.asked)
    assert first != second
    assert first == third


def test_writing_over_another_content_is_another_request(tmp_path: Path) -> None:
    approver = Answering("approved", "approved", "approved")
    script = [calls(writes("a.txt", "x")), calls(writes("a.txt", "y")), calls(writes("a.txt", "x")), says("ok")]
    agent_in(tmp_path, script, mode="ask", approver=approver).run("Go.")
    assert len({request.approval_key for request in approver.asked}) == 3


def test_a_request_with_huge_numbers_can_be_approved(tmp_path: Path) -> None:
    tool, approver = Doing(succeed), Answering("approved")
    agent = agent_in(tmp_path, [calls(("do", '{"n":12345678901234567890}')), says("ok")], mode="ask", approver=approver)
    agent.register_tool(tool)
    assert agent.run("Go.").status == "completed"
    assert tool.times == 1


def test_an_approver_that_keeps_the_time_itself_is_not_hurried(tmp_path: Path) -> None:
    class Thinking(Answering):
        keeps_time = True

        async def request_approval(self, *, request: ApprovalRequest, timeout_ms: int | None = None) -> DecisionKind:
            with suppress(TimeoutError):
                async with asyncio.timeout(0.1):
                    await asyncio.Event().wait()
            return await super().request_approval(request=request, timeout_ms=timeout_ms)

    settings = {"safety": {"mode": "ask", "approval_timeout_ms": 10}}
    result = agent_in(tmp_path, SCRIPT, settings=settings, approver=Thinking("approved")).run("Go.")
    (decided,) = payloads_of(result.wal_locator, "approval_decided")
    assert decided.decision == "approved"
