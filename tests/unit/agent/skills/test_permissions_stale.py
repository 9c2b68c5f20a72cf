"""A run gives itself no permissions: skills that came or changed while it worked have nothing pass unasked."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent.skills import context
from skills_runtime.ports import ChatRequest, ChatStreamEvent
from skills_runtime.runs import RunPaths, runs_root
from skills_runtime.testing import says
from tests.support.agents import Answering, agent_in, calls, payloads_of
from tests.unit.skills.samples import make_skill, skill_text

SETTINGS = {
    "skills": {
        "spaces": [{"id": "s", "namespace": "web:mvp", "sources": ["f"]}],
        "sources": [{"id": "f", "type": "filesystem", "options": {"root": "skills"}}],
        "discovery": {"enabled": False},
    },
    "sandbox": {"default_policy": "none"},
}
LOOK = calls(("list_dir", {"dir_path": "."}))
SHELL = calls(("shell_command", {"command": "git status"}))
PERMITS = "allowed-tools: Bash(git status:*)\n"


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(context, "MIN_POLL_SECONDS", 0.0)
    monkeypatch.setattr(context, "MIN_POLL_RATIO", 0)
    for name in ("writer", "releaser"):
        make_skill(tmp_path / "skills", name, text=skill_text(name, extra=PERMITS if name == "releaser" else ""))
    return tmp_path


class Writing:
    """A model during whose first answer somebody writes a skill; a child that it begins has a script of its own."""

    def __init__(self, write: Callable[[], object], *scripts: list[Any]) -> None:
        self._write = write
        self._scripts = scripts

    async def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        """Give the next answer of the run or of its child; what the script leaves open is a wait for the child."""
        of_child = not any(message["content"] == "Go." for message in request.messages)
        if not of_child and request.answered == 0:
            self._write()
        answer = self._scripts[of_child][request.answered]
        results = [str(message["content"]) for message in request.messages if message["role"] == "tool"]
        if answer is None:
            answer = calls(("wait", {"ids": [results[-1].split('"id":"')[1].split('"')[0]]}))
        for event in answer.events:
            yield event


def asked_about(directory: Path, model: Writing) -> list[str]:
    """The tools that somebody was asked about, in the run and in its children."""
    approver = Answering(*["approved"] * 5)
    agent_in(directory, model, settings=SETTINGS, approver=approver, mode="ask").run("Go.")
    logs = [str(RunPaths(root).events) for root in sorted(runs_root(directory).iterdir())]
    return [payload.tool for log in logs for payload in payloads_of(log, "approval_requested")]


def writing(directory: Path, name: str) -> Callable[[], object]:
    return lambda: make_skill(
        directory / "skills", name, text=skill_text(name, "Other.", extra=PERMITS, body="Other.\n")
    )


def activating(name: str) -> list[Any]:
    return [calls(("activate_skill", {"name": name})), SHELL, says("done")]


def test_a_skill_that_is_as_it_was_has_its_tools_pass_without_approval(directory: Path) -> None:
    assert asked_about(directory, Writing(lambda: None, [LOOK, *activating("releaser")])) == []


@pytest.mark.parametrize("name", ["writer", "releaser", "evil"])
def test_one_that_changed_or_came_does_not(directory: Path, name: str) -> None:
    assert asked_about(directory, Writing(writing(directory, name), [LOOK, *activating(name)])) == ["shell_command"]


@pytest.mark.parametrize("task", ["Do it.", "Use $evil."])
def test_a_changed_skill_preapproves_nothing_in_a_child_run(directory: Path, task: str) -> None:
    parent = [LOOK, calls(("spawn_agent", {"message": task})), None, says("done")]
    model = Writing(writing(directory, "evil"), parent, activating("evil"))
    assert asked_about(directory, model).count("shell_command") == 1
