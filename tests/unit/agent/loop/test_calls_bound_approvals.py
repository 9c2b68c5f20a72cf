"""An approval holds for the bytes behind a call: a variable, a skill or a patch that changed is asked about again."""

from pathlib import Path

import pytest

from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.testing import says
from tests.support.agents import calls
from tests.unit.safety.approvals.stage import UNFENCED, Stage

SKILLS = {
    "spaces": [{"id": "s", "namespace": "web:mvp", "sources": ["f"]}],
    "sources": [{"id": "f", "type": "filesystem", "options": {"root": "skills"}}],
    "actions": {"enabled": True},
}
SKILL = """---
name: maker
description: Makes it.
actions:
  make: {kind: shell, argv: [sh, actions/make.sh]}
---

Make it.
"""
NEEDS = "dependencies:\n  tools:\n  - type: env_var\n    value: MAKER_TARGET\n"
PATCH = "*** Begin Patch\n*** Add File: made.txt\n+one\n*** End Patch"


def skill_in(directory: Path) -> Path:
    """A skill whose action makes a file named by a variable."""
    actions = directory / "skills" / "maker" / "actions"
    actions.mkdir(parents=True)
    (actions.parent / "SKILL.md").write_text(SKILL)
    (actions.parent / "agents").mkdir()
    (actions.parent / "agents" / "openai.yaml").write_text(NEEDS)
    script = actions / "make.sh"
    script.write_text('touch "made-$MAKER_TARGET"\n')
    return script


def stage_in(directory: Path, target: str = "one") -> Stage:
    call = ("skill_exec", {"skill_mention": "$[web:mvp].maker", "action_id": "make"})
    settings = {"skills": SKILLS, **UNFENCED}
    return Stage(directory, [calls(call), says("done")], settings=settings, variables={"MAKER_TARGET": target})


def created_files(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.glob("made*"))


def test_an_approved_action_runs(tmp_path: Path) -> None:
    skill_in(tmp_path)
    stage = stage_in(tmp_path)
    assert stage.work().status == "waiting_human"
    stage.decide()
    assert stage.work().status == "completed"
    assert created_files(tmp_path) == ["made-one"]


def test_an_action_whose_script_changed_needs_approval_again(tmp_path: Path) -> None:
    script = skill_in(tmp_path)
    stage = stage_in(tmp_path)
    stage.work()
    stage.decide()
    script.write_text('touch "made-$MAKER_TARGEU"\n')
    assert stage.work().status == "waiting_human"
    assert [payload.reason for payload in stage.all("approval_refused")] == ["changed"]
    assert created_files(tmp_path) == []


def test_an_action_whose_variable_changed_needs_approval_again(tmp_path: Path) -> None:
    skill_in(tmp_path)
    stage = stage_in(tmp_path)
    stage.work()
    stage.decide()
    later = stage_in(tmp_path, target="onf")
    later.inbox = stage.inbox
    assert later.work().status == "waiting_human"
    assert [payload.reason for payload in later.all("approval_refused")] == ["changed"]
    assert created_files(tmp_path) == []


def test_a_patch_changed_on_disk_is_not_applied(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [calls(("apply_patch", {"input": PATCH})), says("done")])
    stage.work()
    stage.decide()
    (requested,) = stage.all("tool_call_requested")
    (blob,) = [path for path in stage.paths.blobs.rglob("*") if path.name.endswith(requested.arguments_blob[4:])]
    blob.chmod(0o600)
    blob.write_bytes(blob.read_bytes().replace(b"+one", b"+onf"))
    with pytest.raises(SkillsRuntimeError):
        stage.work()
    assert created_files(tmp_path) == []
