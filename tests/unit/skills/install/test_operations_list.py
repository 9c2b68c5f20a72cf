"""What the list and the installer say of skills that are changed, untrusted, or hard to call."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cli.programs import invoke
from tests.unit.skills.samples import make_skill, skill_text


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "workspace"
    path.mkdir()
    monkeypatch.chdir(path)
    return path


def listed() -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in json.loads(invoke("skills", "list", "--json").out)["skills"]}


def install(tmp_path: Path, *options: str) -> str:
    source = make_skill(tmp_path / "made", "writer")
    answer = invoke("skills", "install", str(source), "--yes", *options)
    assert answer.code == 0
    return answer.err


@pytest.mark.parametrize("scope", ["project", "user"])
def test_a_skill_that_was_changed_is_listed_as_changed(tmp_path: Path, workspace: Path, home: Path, scope: str) -> None:
    install(tmp_path, "--scope", scope)
    invoke("skills", "trust")
    assert listed()["writer"]["state"] == "offered"
    with (home if scope == "user" else workspace).joinpath(".agents/skills/writer/SKILL.md").open("a") as file:
        file.write("And more.\n")
    assert listed()["writer"]["state"] == "changed"
    assert "`skills verify`" in listed()["writer"]["reason"]
    assert "changed   $[" in invoke("skills", "list").out


def test_a_file_beside_the_text_counts_as_a_change(tmp_path: Path, workspace: Path, home: Path) -> None:
    install(tmp_path, "--scope", "user")
    (home / ".agents/skills/writer/more.sh").write_text("echo\n")
    assert listed()["writer"]["state"] == "changed"


def test_a_change_can_be_taken_back_as_the_comparison_says(tmp_path: Path, workspace: Path, home: Path) -> None:
    install(tmp_path)
    (workspace / ".agents/skills/writer/more.sh").write_text("echo\n")
    answer = invoke("skills", "verify")
    assert (answer.code, "skills install --frozen --force" in answer.err) == (20, True)
    assert invoke("skills", "install", "--frozen", "--force", "--yes").code == 0
    assert invoke("skills", "verify").code == 0


def test_a_skill_that_no_lock_names_is_never_changed(workspace: Path, home: Path) -> None:
    make_skill(home / ".agents/skills", "writer")
    assert listed()["writer"]["state"] == "offered"


def test_a_broken_lock_file_is_reported_and_the_list_is_there(workspace: Path, home: Path) -> None:
    make_skill(home / ".agents/skills", "writer")
    (workspace / "skills-lock.json").write_text("{")
    answer = invoke("skills", "list")
    assert (answer.code, "skills-lock.json" in answer.out, "$[user].writer" in answer.out) == (0, True, True)


def test_after_an_install_in_a_project_the_next_command_is_named(tmp_path: Path, workspace: Path, home: Path) -> None:
    assert "skills trust" in install(tmp_path)
    assert invoke("skills", "trust").code == 0
    (workspace / "other").mkdir()
    make_skill(tmp_path / "made", "reader")
    again = invoke("skills", "install", str(tmp_path / "made/reader"), "--yes")
    assert "skills trust" not in again.err


def test_a_skill_of_the_user_needs_no_trust(tmp_path: Path, workspace: Path, home: Path) -> None:
    assert "skills trust" not in install(tmp_path, "--scope", "user")


def test_an_update_with_nothing_new_says_so(tmp_path: Path, workspace: Path, home: Path) -> None:
    install(tmp_path)
    answer = invoke("skills", "update", "--yes")
    assert (answer.code, answer.out) == (0, "")
    assert "nothing" in answer.err


def test_a_name_that_no_exact_mention_can_say_is_listed_with_what_works(workspace: Path, home: Path) -> None:
    make_skill(home / ".agents/skills", "技能", text=skill_text("技能"))
    assert (listed()["技能"]["mention"], listed()["技能"]["state"]) == ("", "offered")
    assert "`/技能`" in listed()["技能"]["reason"]
    shown = invoke("skills", "show", "技能").out
    assert "$[user].技能" not in shown
    assert "`$技能`" in shown
