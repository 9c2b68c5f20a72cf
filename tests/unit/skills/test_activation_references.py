"""Files of skills: read up to a limit, from below the skill's own directories only."""

import os
from pathlib import Path

import pytest

from skills_runtime.skills import Skill, SkillError
from skills_runtime.skills.activation import read_skill_file
from tests.unit.skills.samples import a_skill, make_skill, source_at


@pytest.fixture
def skill(tmp_path: Path) -> Skill:
    """A skill with files, and with traps beside them."""
    files = {"references/guide.md": "guide", "references/deep/er.md": "deep", "assets/logo.txt": "logo", "top.md": "t"}
    directory = make_skill(tmp_path / "skills", "writer", files=files)
    (tmp_path / "secret").write_text("secret")
    (directory / "references" / "link").symlink_to(tmp_path / "secret")
    (directory / "references" / "near").symlink_to("guide.md")
    (directory / "references" / "up").symlink_to("..")
    os.mkfifo(directory / "references" / "pipe")
    (found,) = source_at(tmp_path / "skills").skills().skills
    return found


REFERENCES = ("references",)
ASSETS = ("references", "assets")


def read_error(skill: Skill, path: str, *, folders: tuple[str, ...] = REFERENCES) -> str:
    with pytest.raises(SkillError) as caught:
        read_skill_file(skill, path, limit=100, folders=folders)
    return caught.value.code


@pytest.mark.parametrize("path", ["references/guide.md", "./references/guide.md"])
def test_a_file_is_read_whole(path: str, skill: Skill) -> None:
    assert read_skill_file(skill, path, limit=5, folders=REFERENCES) == b"guide"
    assert read_skill_file(skill, "references/deep/er.md", limit=100) == b"deep"


def test_of_a_longer_file_the_beginning_is_read(skill: Skill) -> None:
    assert read_skill_file(skill, "references/guide.md", limit=4) == b"guid"


def test_without_folders_every_file_of_the_skill_is_read_but_secrets(skill: Skill) -> None:
    assert skill.directory is not None
    (skill.directory / "references" / ".env").write_text("KEY=1")
    assert read_skill_file(skill, "top.md", limit=100) == b"t"
    assert read_error(skill, "references/.env", folders=()) == "SKILL_REF_PATH_ESCAPE"
    assert read_error(skill, "references/.env") == "SKILL_REF_PATH_ESCAPE"


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "../../secret",
        "references/../top.md",
        "references/../../../secret",
        "references/link",
        "references/near",
        "references/up/top.md",
        "references/up/references/guide.md",
    ],
)
def test_a_path_that_leaves_the_references_is_refused(path: str, skill: Skill) -> None:
    assert read_error(skill, path) == "SKILL_REF_PATH_ESCAPE"


@pytest.mark.parametrize(
    "path",
    ["", ".", "top.md", "SKILL.md", "references", "references/", "references//guide.md", "references/./guide.md",
     "references/a\0b", "actions/x", "references/deep", "references/pipe"],
)  # fmt: skip
def test_what_is_no_reference_file_is_refused(path: str, skill: Skill) -> None:
    assert read_error(skill, path) == "SKILL_REF_PATH_INVALID"


@pytest.mark.parametrize("path", ["references/none.md", "references/guide.md/x", "references/no/ne"])
def test_a_file_that_is_not_there_is_not_found(path: str, skill: Skill) -> None:
    assert read_error(skill, path) == "SKILL_REF_NOT_FOUND"


def test_assets_are_read_only_where_that_is_allowed(skill: Skill) -> None:
    assert read_error(skill, "assets/logo.txt") == "SKILL_REF_PATH_INVALID"
    assert read_skill_file(skill, "assets/logo.txt", limit=100, folders=ASSETS) == b"logo"
    assert read_error(skill, "assets/../top.md", folders=ASSETS) == "SKILL_REF_PATH_ESCAPE"


def test_a_skill_that_became_a_link_is_not_read(skill: Skill, tmp_path: Path) -> None:
    assert skill.directory is not None
    skill.directory.rename(tmp_path / "moved")
    skill.directory.symlink_to(tmp_path / "moved")
    assert read_error(skill, "references/guide.md") == "SKILL_REF_PATH_ESCAPE"


def test_a_skill_without_files_has_no_references() -> None:
    assert read_error(a_skill(), "references/guide.md") == "SKILL_REF_SOURCE_UNSUPPORTED"
