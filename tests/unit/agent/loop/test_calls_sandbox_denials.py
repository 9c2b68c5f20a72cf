"""A command that the fence stopped: the least that would help is told, and a yes runs it again under another policy."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from skills_runtime.testing import FakeModel, says
from tests.support import users as somewhere
from tests.support.agents import Answering, agent_in, calls, payloads_of


@pytest.fixture
def outside() -> Iterator[Path]:
    """A directory that exists only outside: every command has a `/tmp` of its own."""
    with somewhere.outside() as base:
        yield base


def results(result: Any) -> list[dict[str, Any]]:
    return [payload.result for payload in payloads_of(result.wal_locator, "tool_call_finished")]


def writing(target: Path, **more: Any) -> Any:
    return calls(("shell_command", {"command": f"echo hello > {target}/made", **more}))


def test_a_denied_command_names_the_least_that_would_help(tmp_path: Path, outside: Path) -> None:
    model = FakeModel([writing(outside), says("done")])
    (result,) = results(agent_in(tmp_path, model).run("Go."))
    assert result["error_kind"] == "sandbox_denied"
    assert result["data"]["grant"] == {"writable": [str(outside)]}
    assert result["data"]["denials"][0]["what"] == "write"
    assert "the user is asked" in result["stderr"]
    assert not (outside / "made").exists()


def test_a_yes_runs_the_command_again_under_another_policy(tmp_path: Path, outside: Path) -> None:
    model = FakeModel([writing(outside), writing(outside, grant={"writable": [str(outside)]}), says("done")])
    approver = Answering("approved")
    result = agent_in(tmp_path, model, approver=approver).run("Go.")
    first, second = results(result)
    assert (outside / "made").read_text() == "hello\n"
    assert second["ok"]
    assert first["data"]["sandbox"]["policy"] != second["data"]["sandbox"]["policy"]
    assert second["data"]["sandbox"]["granted"] == {"writable": [str(outside)]}
    (payload,) = payloads_of(result.wal_locator, "approval_requested")
    assert payload.tool == "shell_command"


def test_a_grant_needs_approval_even_where_everything_else_passes(tmp_path: Path, outside: Path) -> None:
    model = FakeModel([writing(outside, grant={"writable": [str(outside)]}), says("done")])
    result = agent_in(tmp_path, model, mode="allow").run("Go.")
    assert (result.status, result.error_kind) == ("failed", "config_error")
    assert not (outside / "made").exists()


def test_a_no_leaves_everything_as_it_is(tmp_path: Path, outside: Path) -> None:
    model = FakeModel([writing(outside, grant={"writable": [str(outside)]}), says("done")])
    agent_in(tmp_path, model, approver=Answering("denied")).run("Go.")
    assert not (outside / "made").exists()


@pytest.mark.parametrize("grant", [{"writable": ["/etc"]}, {"writable": ["/"]}, {"readable": ["/proc"]}])
def test_what_cannot_be_granted_is_refused_before_asking(tmp_path: Path, grant: dict[str, Any]) -> None:
    model = FakeModel([calls(("shell_command", {"command": "true", "grant": grant})), says("done")])
    result = agent_in(tmp_path, model, approver=Answering("approved")).run("Go.")
    assert payloads_of(result.wal_locator, "approval_requested") == []
    (outcome,) = results(result)
    assert outcome["error_kind"] == "sandbox_denied"


def test_the_keys_of_the_runtime_are_never_granted(tmp_path: Path) -> None:
    from skills_runtime.config.environment import keys_home

    grant = {"readable": [str(keys_home())]}
    model = FakeModel([calls(("shell_command", {"command": "true", "grant": grant})), says("done")])
    (result,) = results(agent_in(tmp_path, model, approver=Answering("approved")).run("Go."))
    assert result["error_kind"] == "sandbox_denied"


def test_a_command_that_fails_by_itself_is_no_denial(tmp_path: Path) -> None:
    model = FakeModel([calls(("shell_command", {"command": "grep x /dev/null"})), says("done")])
    (result,) = results(agent_in(tmp_path, model).run("Go."))
    assert result["error_kind"] == "exit_code"
    assert "denials" not in result["data"]


def test_a_protected_name_has_no_grant_but_a_reason(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("[core]\n")
    model = FakeModel([calls(("shell_command", {"command": "echo x > .git/config"})), says("done")])
    (result,) = results(agent_in(tmp_path, model, approver=Answering("approved")).run("Go."))
    assert result["error_kind"] == "sandbox_denied"
    assert "grant" not in result["data"]
    assert msgspec.json.encode(result["data"]["denials"]).count(b"sentence") == 1


def test_a_call_cannot_leave_the_sandbox_and_ask_for_a_grant(tmp_path: Path) -> None:
    expected = {"command": "true", "grant": {"hosts": ["a.example:443"]}, "sandbox_permissions": "require_escalated"}
    model = FakeModel([calls(("shell_command", expected)), says("done")])
    (result,) = results(agent_in(tmp_path, model, approver=Answering("approved")).run("Go."))
    assert result["error_kind"] == "validation"
