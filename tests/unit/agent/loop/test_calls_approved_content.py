"""What runs outside the sandbox is what was approved, whatever sandboxed processes do meanwhile."""

import asyncio
import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import Agent
from skills_runtime.events import Event, ToolCallStarted
from skills_runtime.ports import ApprovalRequest, Decision, DecisionKind
from skills_runtime.testing import FakeModel, says
from skills_runtime.tools import ExecSessions
from tests.support.agents import agent_in, calls, payloads_of
from tests.support.users import Unprivileged

HARMLESS, CANARY = "echo harmless\n", "echo canary\n"
SWAPS = 120
MANY_STEPS = {"run": {"max_steps": 2 * SWAPS}}
ESCALATED = {"command": "sh script.sh", "sandbox_permissions": "require_escalated"}
SWAP_FOREVER = (
    "exec_command",
    {
        "cmd": "while :; do for one in canary harmless; do cp $one.sh new.sh; mv new.sh script.sh; done; done",
        "yield_time_ms": 200,
    },
)


class Approving:
    """Approves everything, and remembers which content of the script that was."""

    def __init__(self, decision: DecisionKind | Decision = "approved") -> None:
        self.decision: DecisionKind | Decision = decision
        self.seen: dict[str, str] = {}
        self.requests: list[ApprovalRequest] = []

    async def request_approval(
        self, *, request: ApprovalRequest, timeout_ms: int | None = None
    ) -> DecisionKind | Decision:
        """Say yes."""
        self.seen[request.call_id] = request.intent.digests.get("script.sh", "")
        self.requests.append(request)
        return self.decision


def prepare(directory: Path) -> None:
    for name, content in (("harmless.sh", HARMLESS), ("canary.sh", CANARY), ("script.sh", HARMLESS)):
        (directory / name).write_text(content)


def digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


def results(result: Any) -> dict[str, dict[str, Any]]:
    return {payload.call_id: payload.result for payload in payloads_of(result.wal_locator, "tool_call_finished")}


def swap_while_approving(directory: Path, swaps: int = SWAPS) -> list[str]:
    """The calls that ran other content than was approved for them, of 120."""
    prepare(directory)
    approver = Approving()
    names = [f"escalated_{number}" for number in range(swaps)]
    script = [calls(SWAP_FOREVER), *(calls(("shell_command", ESCALATED), ids=[name]) for name in names), says("done")]
    outcomes = results(agent_in(directory, script, approver=approver, settings=MANY_STEPS).run("Go."))
    assert outcomes["call_exec_command_0"]["data"]["running"]
    assert names == [name for name in names if name in outcomes]
    ran = {name: digest(f"echo {outcomes[name]['stdout']}") for name in names if outcomes[name]["ok"]}
    return [name for name, content in ran.items() if content != approver.seen[name]]


def test_120_swaps_while_an_approver_approves_run_no_other_content(tmp_path: Path) -> None:
    assert swap_while_approving(tmp_path) == []


def test_an_ordinary_user_runs_no_other_content_either(unprivileged: Unprivileged, tmp_path: Path) -> None:
    swap_while_approving(tmp_path, swaps=1)  # imports everything here, where the sources can be read
    assert unprivileged(lambda: swap_while_approving(unprivileged.path)) == []


def test_a_call_outside_is_refused_before_asking_while_a_sandboxed_session_is_alive(tmp_path: Path) -> None:
    prepare(tmp_path)
    session = ("exec_command", {"cmd": "sleep 600", "yield_time_ms": 0})
    approver = Approving()
    outcomes = results(
        agent_in(tmp_path, [calls(session), calls(("shell_command", ESCALATED)), says("done")], approver=approver).run(
            "Go."
        )
    )
    refused = outcomes["call_shell_command_0"]
    assert (refused["error_kind"], approver.requests) == ("sandbox_denied", [])
    assert "end session `1` of run" in refused["stderr"]


def test_a_call_outside_runs_when_the_session_has_ended(tmp_path: Path) -> None:
    prepare(tmp_path)
    script = [
        calls(("exec_command", {"cmd": "cat", "yield_time_ms": 0})),
        calls(("write_stdin", {"session_id": 1, "chars": "\x04", "yield_time_ms": 20_000})),
        calls(("shell_command", ESCALATED)),
        says("done"),
    ]
    outcomes = results(agent_in(tmp_path, script, approver=Approving()).run("Go."))
    assert outcomes["call_shell_command_0"]["stdout"] == "harmless\n"


def test_a_call_with_a_grant_is_refused_while_a_sandboxed_session_is_alive(tmp_path: Path) -> None:
    prepare(tmp_path)
    granted = ("shell_command", {"command": "sh script.sh", "grant": {"limits": {"open_files": 5000}}})
    script = [calls(("exec_command", {"cmd": "sleep 600", "yield_time_ms": 0})), calls(granted), says("done")]
    outcomes = results(agent_in(tmp_path, script, approver=Approving()).run("Go."))
    assert outcomes["call_shell_command_0"]["error_kind"] == "sandbox_denied"


def test_no_sandboxed_command_starts_beside_a_session_outside_the_sandbox(tmp_path: Path) -> None:
    prepare(tmp_path)
    outside = ("exec_command", {"cmd": "cat", "yield_time_ms": 0, "sandbox_permissions": "require_escalated"})
    script = [
        calls(outside),
        calls(("shell_command", {"command": "touch made"}), ids=["beside"]),
        calls(("write_stdin", {"session_id": 1, "chars": "\x04", "yield_time_ms": 20_000})),
        calls(("shell_command", {"command": "true"}), ids=["after"]),
        says("done"),
    ]
    outcomes = results(agent_in(tmp_path, script, approver=Approving()).run("Go."))
    assert outcomes["beside"]["error_kind"] == "sandbox_denied"
    assert "session `1`" in outcomes["beside"]["stderr"]
    assert not (tmp_path / "made").exists()
    assert outcomes["after"]["ok"]


def test_a_session_of_another_run_in_the_workspace_counts_too(tmp_path: Path) -> None:
    prepare(tmp_path)
    with ExecSessions() as sessions:
        other = Agent(
            workspace_root=tmp_path,
            backend=FakeModel([calls(SWAP_FOREVER), says("done")]),
            session_settings={"safety": {"mode": "allow"}},
            approval_provider=Approving(),
            exec_sessions=sessions,
        )
        other.run("Go.")
        outcomes = results(
            agent_in(tmp_path, [calls(("shell_command", ESCALATED)), says("done")], approver=Approving()).run("Go.")
        )
    assert outcomes["call_shell_command_0"]["error_kind"] == "sandbox_denied"


@pytest.mark.parametrize("tool", ["shell_command", "exec_command"])
def test_content_that_changes_after_the_approval_does_not_run(tmp_path: Path, tool: str) -> None:
    prepare(tmp_path)

    def swap(event: Event) -> None:
        if event.type == "tool_call_started":
            (tmp_path / "script.sh").write_text(CANARY)

    line = {"shell_command": "command", "exec_command": "cmd"}[tool]
    call = (tool, {line: "sh script.sh", "sandbox_permissions": "require_escalated"})
    agent = agent_in(tmp_path, [calls(call), says("done")], approver=Approving(), hooks=[swap])
    (result,) = results(agent.run("Go.")).values()
    assert (result["ok"], result["error_kind"], result.get("stdout", "")) == (False, "permission", "")


def test_content_that_changes_while_an_approver_edits_the_call_needs_approval_again(tmp_path: Path) -> None:
    prepare(tmp_path)

    class Editing(Approving):
        """Changes the call, and lets somebody change the script meanwhile."""

        async def request_approval(
            self, *, request: ApprovalRequest, timeout_ms: int | None = None
        ) -> DecisionKind | Decision:
            await super().request_approval(request=request)
            if len(self.requests) > 1:
                return "denied"
            (tmp_path / "script.sh").write_text(CANARY)
            return Decision(decision="approved", arguments={**ESCALATED, "command": "sh script.sh x"})

    approver = Editing()
    outcomes = results(
        agent_in(tmp_path, [calls(("shell_command", ESCALATED)), says("done")], approver=approver).run("Go.")
    )
    assert (len(approver.requests), outcomes["call_shell_command_0"]["ok"]) == (2, False)


def test_an_approval_for_the_session_holds_for_the_content_that_was_seen(tmp_path: Path) -> None:
    prepare(tmp_path)

    def swap(event: Event) -> None:
        if isinstance(event.payload, ToolCallStarted) and event.payload.call_id == "second":
            (tmp_path / "script.sh").write_text(CANARY)

    script = [calls(("shell_command", ESCALATED), ids=[name]) for name in ("first", "second")]
    agent = agent_in(tmp_path, [*script, says("done")], approver=Approving("approved_for_session"), hooks=[swap])
    outcomes = results(agent.run("Go."))
    assert (outcomes["first"]["stdout"], outcomes["second"]["error_kind"]) == ("harmless\n", "permission")


def test_file_tools_do_not_change_a_script_that_runs_outside(tmp_path: Path) -> None:
    (tmp_path / "script.sh").write_text("cat\n")
    running = ("exec_command", {"cmd": "sh script.sh", "yield_time_ms": 0, "sandbox_permissions": "require_escalated"})
    script = [
        calls(running),
        calls(("file_write", {"path": "script.sh", "content": CANARY})),
        calls(("file_write", {"path": "other.sh", "content": CANARY}), ids=["other"]),
        says("done"),
    ]
    outcomes = results(agent_in(tmp_path, script, approver=Approving()).run("Go."))
    assert (outcomes["call_file_write_0"]["error_kind"], outcomes["other"]["ok"]) == ("write_refused", True)
    assert (tmp_path / "script.sh").read_text() == "cat\n"


async def test_a_sandboxed_command_of_another_run_waits_for_the_end_of_a_call_outside(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "began")
    line = "echo > began; sleep 0.5; touch outside-ended"
    outside = {"command": line, "sandbox_permissions": "require_escalated"}
    first = agent_in(tmp_path, [calls(("shell_command", outside)), says("done")], approver=Approving())
    inside = ("shell_command", {"command": "test -e outside-ended"})
    second = agent_in(tmp_path, [calls(inside), says("done")])

    async def begin_second() -> Any:
        await asyncio.to_thread((tmp_path / "began").read_text)
        return await second.run_async("Go.")

    _, waited = await asyncio.gather(first.run_async("Go."), begin_second())
    assert results(waited)["call_shell_command_0"]["ok"]
