"""A run that is killed after any event goes on with the skills it had, each told once, and what they permit."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent.run_ports import log_ports
from skills_runtime.runs import RunPaths, runs_root, verify_run
from skills_runtime.testing import FakeModel, says
from tests.support.agents import Answering, agent_in, calls, payloads_of
from tests.support.events import order_problem
from tests.support.runs import lines_of
from tests.unit.skills.samples import make_skill, skill_text

SETTINGS = {
    "skills": {
        "spaces": [{"id": "s", "namespace": "web:mvp", "sources": ["f"]}],
        "sources": [{"id": "f", "type": "filesystem", "options": {"root": "skills"}}],
        "discovery": {"enabled": False},
    },
    "sandbox": {"default_policy": "none"},
    "run": {"resume_strategy": "replay"},
}
SCRIPT = [
    calls(("activate_skill", {"name": "releaser"})),
    calls(("shell_command", {"command": "git --version"})),
    says("Done."),
]
BODY = "Look at the version first."


def work(place: Path, model: FakeModel) -> tuple[Any, Answering]:
    approver = Answering(*["approved"] * 5)
    agent = agent_in(place, model, settings=SETTINGS, mode="ask", approver=approver)
    return agent.run("Use $[web:mvp].writer.", run_id="run_1"), approver


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run that ended, in a workspace and with keys that outlive one test."""
    place, state = tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("state")
    make_skill(place / "skills", "writer")
    text = skill_text("releaser", extra="allowed-tools: Bash(git --version)\n", body=f"{BODY}\n")
    make_skill(place / "skills", "releaser", text=text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(state))
        result, approver = work(place, FakeModel(SCRIPT))
    assert (result.status, approver.asked) == ("completed", [])
    return place, state


BORN, LINES = 5, 23
"""How many lines a run is put in place with, and how many the log of the script has."""


def test_the_log_has_as_many_lines_as_are_cut_below(whole: tuple[Path, Path]) -> None:
    lines = lines_of(RunPaths(runs_root(whole[0]) / "run_1"))
    assert len(lines) == LINES
    assert b'"type":"skill_injected"' in lines[BORN - 1]


@pytest.mark.parametrize("kept", range(BORN, LINES))
def test_skills_are_reported_once_and_permit_the_same_wherever_a_run_was_killed(
    whole: tuple[Path, Path], kept: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "place"
    shutil.copytree(whole[0], place, symlinks=True)
    monkeypatch.setenv("XDG_STATE_HOME", str(whole[1]))
    paths = RunPaths(runs_root(place) / "run_1")
    paths.events.write_bytes(b"".join(lines_of(paths)[:kept]))
    model = FakeModel(SCRIPT)
    result, approver = work(place, model)
    assert (result.status, approver.asked) == ("completed", [])
    injected = payloads_of(result.wal_locator, "skill_injected")
    assert sorted(one.skill_name for one in injected) == ["releaser", "writer"]
    for request in model.requests:
        assert not order_problem(request.messages)
        assert str(request.messages).count(BODY) <= 1
    findings = verify_run(paths.root, log_ports().keys).findings
    assert [one for one in findings if one.severity != "note"] == []  # a kill may leave a blob that no event names
