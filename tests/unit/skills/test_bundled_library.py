"""The bundled skills in a library: always there, never in the way of others."""

from pathlib import Path
from typing import Any

import pytest

from skills_runtime.config import resolve
from skills_runtime.skills import Library, find_bundled_skills, is_bundled, load_library, parse_mention
from skills_runtime.skills.reports import list_skills
from tests.unit.skills.samples import make_skill, skill_text

WRITER = "$[web:mvp].article-writer"


def library_in(directory: Path, **skills: Any) -> Library:
    return load_library(resolve(directory, session_settings={"skills": skills}))


def space_at(root: Path) -> dict[str, Any]:
    return {
        "spaces": [{"id": "mine", "namespace": "web:mvp", "sources": ["here"]}],
        "sources": [{"id": "here", "type": "filesystem", "options": {"root": str(root)}}],
    }


@pytest.mark.parametrize("discovery", [{}, {"enabled": False}])
def test_they_are_usable_in_a_fresh_directory_and_not_offered_to_the_model(
    tmp_path: Path, discovery: dict[str, Any]
) -> None:
    library = library_in(tmp_path, discovery=discovery)
    assert library.list() == ()
    assert WRITER in [skill.mention.text for skill in library.usable()]
    assert library.find(parse_mention(WRITER)) == library.find_by_name("article-writer")
    assert "# " in library.body(library.find_by_name("article-writer"))


def test_an_own_skill_of_the_same_name_comes_first_with_a_notice(tmp_path: Path, home: Path) -> None:
    make_skill(home / ".agents/skills", "article-writer", text=skill_text("article-writer", "Mine."))
    library = library_in(tmp_path)
    assert library.find_by_name("article-writer").description == "Mine."
    assert is_bundled(library.find(parse_mention(WRITER)))
    (notice,) = library.problems()
    assert (notice.code, notice.severity) == ("SKILL_SHADOWED", "notice")
    assert f"`{WRITER}` is hidden by `$[user].article-writer`" in notice.message


def test_an_own_skill_of_the_same_mention_replaces_it_with_a_notice(tmp_path: Path) -> None:
    make_skill(tmp_path / "mine", "article-writer", text=skill_text("article-writer", "Mine."))
    library = library_in(tmp_path, **space_at(tmp_path / "mine"))
    assert library.find(parse_mention(WRITER)).description == "Mine."
    (notice,) = library.problems()
    assert "the built-in `$[web:mvp].article-writer` is replaced by" in notice.message


def test_a_space_of_the_bundled_skills_themselves_is_no_conflict(tmp_path: Path) -> None:
    library = library_in(tmp_path, **space_at(find_bundled_skills()))
    assert library.problems() == ()
    assert len(library.list()) == len(library.usable()) == 5


def test_a_bundled_skill_is_there_again_once_its_replacement_is_gone(tmp_path: Path, home: Path) -> None:
    file = make_skill(tmp_path / "mine", "article-writer", text=skill_text("article-writer", "Mine.")) / "SKILL.md"
    library = library_in(tmp_path, **space_at(tmp_path / "mine"))
    assert library.find_by_name("article-writer").description == "Mine."
    file.unlink()
    assert library.refresh() is True
    assert is_bundled(library.find(parse_mention(WRITER)))
    del home


def test_the_list_shows_them_as_built_in_with_their_programs(tmp_path: Path) -> None:
    skills = {skill.name: skill for skill in list_skills(resolve(tmp_path)).skills}
    assert {skill.state for skill in skills.values()} == {"built-in"}
    assert (skills["get-available-resources"].runtime, skills["article-writer"].runtime) == ("python", "")
