"""From settings to a library: what each setting does, and what is refused before anything is searched."""

from pathlib import Path
from typing import Any

import pytest

from skills_runtime.config.models import SkillsSettings
from skills_runtime.errors import ConfigError
from skills_runtime.skills import Library, build_library
from tests.unit.skills.samples import make_skill, row, skill_text

FILES = {"id": "files", "type": "filesystem", "options": {"root": "skills"}}
ROWS: dict[str, Any] = {"id": "rows", "type": "in-memory"}
SPACE: dict[str, Any] = {"id": "main", "namespace": "web:mvp", "sources": ["files"]}


def library(root: Path, **settings: Any) -> Library:
    skills_settings = {"spaces": [SPACE], "sources": [FILES], **settings}
    return build_library(SkillsSettings.model_validate(skills_settings), root, registered={"rows": [row("editor")]})


def names(configured_library: Library) -> list[str]:
    return [skill.mention.text for skill in configured_library.list()]


def test_a_relative_root_is_below_the_workspace(tmp_path: Path) -> None:
    make_skill(tmp_path, "skills/writer")
    assert names(library(tmp_path)) == ["$[web:mvp].writer"]


def test_a_root_may_be_in_the_home_directory_or_absolute(tmp_path: Path, home: Path) -> None:
    make_skill(home, "mine/writer")
    make_skill(tmp_path, "theirs/editor")
    for root, name in (("~/mine", "writer"), (str(tmp_path / "theirs"), "editor")):
        configured_library = library(tmp_path, sources=[{**FILES, "options": {"root": root}}])
        assert names(configured_library) == [f"$[web:mvp].{name}"]


def test_registered_rows_fill_a_source_in_memory(tmp_path: Path) -> None:
    spaces = [{**SPACE, "sources": ["rows", "files", "rows"]}]
    make_skill(tmp_path, "skills/writer")
    configured_library = library(tmp_path, spaces=spaces, sources=[FILES, ROWS])
    assert names(configured_library) == ["$[web:mvp].editor", "$[web:mvp].writer"]
    assert [skill.space_id for skill in configured_library.list()] == ["main", "main"]


def test_one_source_may_fill_two_spaces(tmp_path: Path) -> None:
    make_skill(tmp_path, "skills/writer")
    configured_library = library(tmp_path, spaces=[SPACE, {**SPACE, "id": "other", "namespace": "art"}])
    assert names(configured_library) == ["$[art].writer", "$[web:mvp].writer"]
    assert [configured_library.body(skill) for skill in configured_library.list()] == ["Do it.\n", "Do it.\n"]


def test_a_space_that_is_off_has_no_skills(tmp_path: Path) -> None:
    make_skill(tmp_path, "skills/writer")
    assert names(library(tmp_path, spaces=[{**SPACE, "enabled": False}])) == []


def test_no_settings_are_an_empty_library(tmp_path: Path) -> None:
    assert build_library(SkillsSettings(), tmp_path).list() == ()


def test_the_limits_of_a_search_come_from_the_settings(tmp_path: Path) -> None:
    make_skill(tmp_path, "skills/writer")
    make_skill(tmp_path, "skills/group/editor")
    make_skill(tmp_path, "skills/.hidden", text=skill_text("hidden"))
    assert names(library(tmp_path, scan={"max_depth": 1})) == ["$[web:mvp].writer"]
    assert names(library(tmp_path, scan={"max_dirs_per_root": 1})) == []
    assert names(library(tmp_path, scan={"max_frontmatter_bytes": 5})) == []
    assert len(names(library(tmp_path, scan={"ignore_dot_entries": False}))) == 3


def test_rules_come_from_the_settings(tmp_path: Path) -> None:
    configured_library = library(tmp_path, env_var_missing_policy="skip_skill", injection={"max_bytes": 7})
    assert configured_library.rules.env_var_missing_policy == "skip_skill"
    assert configured_library.rules.max_body_bytes == 7


@pytest.mark.parametrize(
    ("settings", "code", "named"),
    [
        ({"spaces": [SPACE, SPACE]}, "SKILL_CONFIG_DUPLICATE_SPACE_ID", "main"),
        ({"sources": [FILES, FILES]}, "SKILL_CONFIG_DUPLICATE_SOURCE_ID", "files"),
        ({"spaces": [{**SPACE, "namespace": "Web"}]}, "SKILL_CONFIG_INVALID_SPACE_NAMESPACE", "Web"),
        ({"spaces": [{**SPACE, "namespace": "a:b"}]}, "SKILL_CONFIG_INVALID_SPACE_NAMESPACE", "a:b"),
        ({"spaces": [{**SPACE, "sources": ["else"]}]}, "SKILL_CONFIG_SPACE_SOURCE_NOT_FOUND", "else"),
        ({"sources": [{**FILES, "type": "redis"}]}, "SKILL_CONFIG_INVALID_OPTION", "redis"),
        ({"sources": [{**FILES, "type": "pgsql"}]}, "SKILL_CONFIG_INVALID_OPTION", "pgsql"),
        ({"sources": [{**FILES, "options": {}}]}, "SKILL_CONFIG_MISSING_REQUIRED_OPTION", "root"),
        ({"sources": [{**FILES, "options": {"root": 7}}]}, "SKILL_CONFIG_INVALID_OPTION", "root"),
        ({"sources": [{**FILES, "options": {"root": " "}}]}, "SKILL_CONFIG_INVALID_OPTION", "root"),
        ({"sources": [{**FILES, "options": {"root": "a\0b"}}]}, "SKILL_CONFIG_INVALID_OPTION", "files"),
        ({"sources": [{**FILES, "options": {"root": "~nobody-here/x"}}]}, "SKILL_CONFIG_INVALID_OPTION", "files"),
        ({"sources": [{**FILES, "options": {"root": "x", "rot": 1}}]}, "SKILL_CONFIG_INVALID_OPTION", "rot"),
        ({"sources": [FILES, {**ROWS, "options": {"root": "x"}}]}, "SKILL_CONFIG_INVALID_OPTION", "root"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any], code: str, named: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        library(tmp_path, **settings)
    assert caught.value.kind == "config_error"
    assert caught.value.details["code"] == code
    assert named in caught.value.message
    assert caught.value.hint
