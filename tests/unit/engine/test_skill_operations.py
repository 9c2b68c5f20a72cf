"""Skills are prepared before they are installed, and a text is changed only where it was seen."""

import asyncio
import os
from pathlib import Path

import pytest

from skills_runtime.engine import Workspace
from skills_runtime.engine.skill_operations import InstallOptions, SkillOperations
from skills_runtime.errors import RequestConflict, ValidationFailed
from skills_runtime.skills import Skill
from skills_runtime.skills.install import parse_source

NOTES = "---\nname: notes\ndescription: Writes release notes.\n---\n\nWrite them.\n"


def operations(root: Path) -> SkillOperations:
    source = {"id": "here", "type": "filesystem", "options": {"root": str(root / "mine")}}
    space = {"id": "mine", "namespace": "my:own", "sources": ["here"]}
    given = {"skills": {"spaces": [space], "sources": [source]}}
    return SkillOperations(Workspace(workspace_root=root, state=root / "state", user_settings=given))


def write_notes(root: Path, text: str = NOTES) -> Path:
    path = root / "mine" / "notes" / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def find_notes(skills: SkillOperations) -> Skill:
    return skills.find("notes")[1]


async def test_one_of_many_concurrent_changes_to_a_skill_wins(tmp_path: Path) -> None:
    write_notes(tmp_path)
    skills = operations(tmp_path)
    skill = find_notes(skills)

    def change(number: int) -> bool:
        try:
            skills.edit(skill, f"{NOTES}{number}\n", expected_digest=skill.content_hash)
        except RequestConflict:
            return False
        return True

    done = await asyncio.gather(*(asyncio.to_thread(change, number) for number in range(24)))
    assert sum(done) == 1


def test_a_pipe_in_the_place_of_a_skill_blocks_no_other(tmp_path: Path) -> None:
    path, skills = write_notes(tmp_path), operations(tmp_path)
    skill = find_notes(skills)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(RequestConflict):
        skills.edit(skill, NOTES, expected_digest=skill.content_hash)


def test_a_prepared_skill_changes_nothing_before_it_is_installed(tmp_path: Path) -> None:
    write_notes(tmp_path)
    skills, options = operations(tmp_path), InstallOptions()
    source = parse_source("./mine", here=tmp_path)
    with skills.prepare_install(source, ["notes"], options) as prepared:
        assert [installed.name for installed in prepared.unapproved] == ["notes"]
    assert skills.verify() == ()
    with skills.prepare_install(source, ["notes"], options) as prepared:
        assert [installed.name for installed in prepared.install()] == ["notes"]
    assert [(installed.name, installed.status) for installed in skills.verify()] == [("notes", "ok")]
    with skills.prepare_install(source, ["notes"], options) as prepared:
        assert prepared.unapproved == []
        assert prepared.install() == [], "it is there already"


def test_what_was_changed_here_is_named_before_it_is_replaced_and_can_come_back(tmp_path: Path) -> None:
    write_notes(tmp_path)
    skills, options = operations(tmp_path), InstallOptions()
    source = parse_source("./mine", here=tmp_path)
    with skills.prepare_install(source, ["notes"], options) as prepared:
        prepared.install()
    installed = skills.install_paths().skills / "notes" / "SKILL.md"
    installed.write_text(f"{NOTES}Mine.\n")
    with skills.prepare_locked(options) as prepared:
        assert [installed.name for installed in prepared.overwriting] == ["notes"]
        prepared.install()
    assert installed.read_text() == NOTES
    with skills.prepare_rollback("notes") as prepared:
        prepared.install()
    assert installed.read_text() == f"{NOTES}Mine.\n"
    assert [installed.status for installed in skills.lock()] == ["ok"]
    skills.remove(["notes"])
    assert skills.verify() == ()


def test_a_project_that_is_not_there_has_no_places(tmp_path: Path) -> None:
    skills = operations(tmp_path / "nowhere")
    with pytest.raises(ValidationFailed, match="there is no directory"):
        skills.install_paths()
    assert skills.install_paths("user").skills
