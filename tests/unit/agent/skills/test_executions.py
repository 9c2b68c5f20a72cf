"""A whole run that lets a skill run by itself: through the gate, behind the fence, told by the log."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from skills_runtime.agent import Agent
from skills_runtime.events import Event
from skills_runtime.llm import ScriptedBackend
from skills_runtime.ports import ApprovalRequest, DecisionKind
from skills_runtime.skills.bundled import find_bundled_skills
from skills_runtime.testing import says
from tests.support.agents import calls, payloads_of

SETTINGS: dict[str, Any] = {
    "safety": {"mode": "ask"},
    "skills": {
        "spaces": [{"id": "bundled", "namespace": "web:mvp", "sources": ["bundled"]}],
        "sources": [{"id": "bundled", "type": "filesystem", "options": {"root": str(find_bundled_skills())}}],
        "actions": {"enabled": True},
    },
}


class Trusting:
    """Approves for the whole session what it has not been asked before."""

    def __init__(self) -> None:
        self.asked: list[ApprovalRequest] = []

    async def request_approval(self, *, request: ApprovalRequest, timeout_ms: int | None = None) -> DecisionKind:
        """Remember the question, and say yes."""
        self.asked.append(request)
        return "approved_for_session"


def statistics(text: str) -> tuple[str, dict[str, Any]]:
    mention = "$[web:mvp].text-statistics"
    return "skill_exec", {"skill_mention": mention, "action_id": "run", "input": {"text": text}}


def test_what_was_approved_for_the_session_is_not_asked_again_and_another_input_is(tmp_path: Path) -> None:
    script = [calls(statistics("one two")), calls(statistics("one two")), calls(statistics("other")), says("Done.")]
    approver = Trusting()
    agent = Agent(
        workspace_root=tmp_path,
        backend=ScriptedBackend(script),
        session_settings=SETTINGS,
        approval_provider=approver,
    )

    result = agent.run("Count.")

    assert result.status == "completed", result.final_output
    assert len(approver.asked) == 2
    results: list[dict[str, Any]] = [
        payload.result for payload in payloads_of(result.wal_locator, "tool_call_finished")
    ]
    assert [call_result["data"]["output"]["words"] for call_result in results] == [2, 2, 1]
    assert all(call_result["data"]["sandbox"]["active"] for call_result in results)


def in_workspace(directory: Path) -> dict[str, Any]:
    """The settings of a run whose skill lies where sandboxed commands can write."""
    shutil.copytree(find_bundled_skills() / "text-statistics", directory / "skills" / "text-statistics")
    source = {"id": "bundled", "type": "filesystem", "options": {"root": str(directory / "skills")}}
    return {**SETTINGS, "skills": {**SETTINGS["skills"], "sources": [source]}}


def agent_with(directory: Path, *answers: Any, hooks: Sequence[Callable[[Event], None]] = ()) -> Agent:
    return Agent(
        workspace_root=directory,
        backend=ScriptedBackend([*answers, says("Done.")]),
        session_settings=in_workspace(directory),
        approval_provider=Trusting(),
        event_hooks=hooks,
    )


def test_a_skill_in_the_workspace_runs_alone(tmp_path: Path) -> None:
    result = agent_with(tmp_path, calls(statistics("one two"))).run("Count.")
    (payload,) = payloads_of(result.wal_locator, "tool_call_finished")
    assert payload.result["data"]["output"]["words"] == 2


def test_a_skill_in_the_workspace_does_not_run_beside_a_sandboxed_session(tmp_path: Path) -> None:
    session = calls(("exec_command", {"cmd": "sleep 600", "yield_time_ms": 0}))
    result = agent_with(tmp_path, session, calls(statistics("one two"))).run("Count.")
    _, payloads = payloads_of(result.wal_locator, "tool_call_finished")
    assert payloads.result["error_kind"] == "sandbox_denied"
    assert len(payloads_of(result.wal_locator, "approval_requested")) == 1


def test_a_skill_in_the_workspace_that_changes_after_its_approval_does_not_run(tmp_path: Path) -> None:
    def swap(event: Event) -> None:
        if event.type == "tool_call_started":
            (tmp_path / "skills" / "text-statistics" / "notes.md").write_text("other")

    result = agent_with(tmp_path, calls(statistics("one two")), hooks=[swap]).run("Count.")
    (payload,) = payloads_of(result.wal_locator, "tool_call_finished")
    assert payload.result["error_kind"] == "permission"
