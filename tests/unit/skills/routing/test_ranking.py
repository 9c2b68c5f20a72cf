"""Routing over a library: bodies are read once."""

from pathlib import Path

from skills_runtime.skills import Library
from skills_runtime.skills.routing import index_library, search_index
from tests.unit.skills.samples import library_at, library_of, make_skill, row


def search_names(library: Library, query: str) -> list[str]:
    return [choice.skill.name for choice in search_index(query, index_library(library))]


def test_the_bodies_of_a_library_are_searched() -> None:
    assert search_names(library_of(row("writer", "About zebras."), row("editor")), "zebra") == ["writer"]


def test_more_skills_than_can_be_read_are_searched_by_what_they_say() -> None:
    library = library_of(row("writer", "About zebras."))
    assert search_index("zebra", index_library(library, max_bodies=0)) == ()
    assert len(search_index("writer", index_library(library, max_bodies=0))) == 1


def test_a_body_that_cannot_be_read_hides_no_skill(tmp_path: Path) -> None:
    make_skill(tmp_path, "gone")
    make_skill(tmp_path, "editor")
    library = library_at(tmp_path)
    library.list()
    (tmp_path / "gone" / "SKILL.md").unlink()
    assert sorted(search_names(library, "write things")) == ["editor", "gone"]
