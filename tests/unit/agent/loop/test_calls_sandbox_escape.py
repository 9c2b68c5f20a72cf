"""Leaving the fence: always asked about, whatever the mode, and never without a yes."""

from pathlib import Path

from skills_runtime.testing import says
from tests.support.agents import Answering, agent_in, calls, payloads_of

CALL = ("shell_command", {"command": "true", "sandbox_permissions": "require_escalated", "justification": "I want to"})


def test_a_call_that_wants_to_leave_needs_approval_even_where_everything_is_allowed(tmp_path: Path) -> None:
    approver = Answering("approved")
    result = agent_in(tmp_path, [calls(CALL), says("done")], mode="allow", approver=approver).run("Go.")
    (finished,) = payloads_of(result.wal_locator, "tool_call_finished")
    assert finished.result["ok"], finished.result
    assert finished.result["data"]["sandbox"]["effective"] == "none"
    (request,) = approver.asked
    assert (request.intent.justification, request.intent.fence["effective"]) == ("I want to", "none")


def test_a_call_that_may_not_leave_does_not_run(tmp_path: Path) -> None:
    result = agent_in(tmp_path, [calls(CALL), says("done")], mode="allow", approver=Answering("denied")).run("Go.")
    (finished,) = payloads_of(result.wal_locator, "tool_call_finished")
    assert finished.result["error_kind"] == "permission"
    assert not payloads_of(result.wal_locator, "tool_call_started")


def test_without_an_approver_nothing_leaves(tmp_path: Path) -> None:
    result = agent_in(tmp_path, [calls(CALL), says("done")], mode="allow").run("Go.")
    assert (result.status, result.error_kind) == ("failed", "config_error")


def test_a_call_that_stays_inside_is_sandboxed_and_says_so(tmp_path: Path) -> None:
    inside = ("shell_command", {"command": "touch made"})
    result = agent_in(tmp_path, [calls(inside), says("done")], mode="allow").run("Go.")
    (finished,) = payloads_of(result.wal_locator, "tool_call_finished")
    assert finished.result["ok"], finished.result
    sandbox = finished.result["data"]["sandbox"]
    assert (sandbox["active"], sandbox["effective"], sandbox["network"]) == (True, "restricted", "none")
    assert (tmp_path / "made").exists()
