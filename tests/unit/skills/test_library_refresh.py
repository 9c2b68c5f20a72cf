"""A library that looks again: only where something may have changed, and all at once."""

import os
from pathlib import Path

import pytest

from skills_runtime.skills import Library, MemorySource, Origin, Report, Skill
from skills_runtime.skills.catalog import build_entries, compute_delta, compute_marks, decode_marks
from skills_runtime.skills.problems import Problem
from skills_runtime.skills.sources import FilesystemSource, IndexedSource
from skills_runtime.skills.sources.refresh import Policy, Scans, apply_refresh_policy
from tests.unit.skills.samples import ORIGIN, make_skill, row, skill_text


def build_indexed_source(root: Path) -> IndexedSource:
    return IndexedSource(FilesystemSource(ORIGIN, root), None)


def names_of(library: Library) -> list[str]:
    return [skill.name for skill in library.list()]


class Unreachable:
    """A source that worked once and cannot be reached since."""

    origin = Origin("other", "far", "away")

    def __init__(self) -> None:
        self.searches = 0

    def skills(self) -> Report:
        """Its skill the first time, and then none."""
        self.searches += 1
        skill = Skill(
            namespace="far", name="distant", description="Far.", locator="x", space_id="other", source_id="away"
        )
        problem = Problem(code="SKILL_SCAN_SOURCE_UNAVAILABLE", message="it is out of reach")
        return Report((skill,)) if self.searches == 1 else Report((), (problem,))

    def body(self, skill: Skill) -> str:
        """Nothing."""
        return ""


def test_a_library_that_was_never_searched_has_nothing_to_look_at_again(tmp_path: Path) -> None:
    assert not Library([build_indexed_source(tmp_path)]).refresh()


def test_a_new_skill_is_found_in_the_same_library(tmp_path: Path) -> None:
    make_skill(tmp_path, "writer")
    library = Library([build_indexed_source(tmp_path)])
    assert names_of(library) == ["writer"]
    make_skill(tmp_path, "editor")
    assert library.refresh()
    assert names_of(library) == ["editor", "writer"]
    assert library.find_by_name("editor").name == "editor"


def test_where_nothing_changed_the_list_is_the_very_same(tmp_path: Path) -> None:
    make_skill(tmp_path, "writer")
    library = Library([build_indexed_source(tmp_path)])
    previous = library.list()
    assert not library.refresh()
    assert library.list() is previous


def test_a_directory_that_comes_where_none_was_is_noticed(tmp_path: Path) -> None:
    library = Library([build_indexed_source(tmp_path / "later")])
    assert names_of(library) == []
    make_skill(tmp_path / "later", "writer")
    assert library.refresh()
    assert names_of(library) == ["writer"]


def test_a_skill_that_became_unreadable_takes_no_other_with_it(tmp_path: Path) -> None:
    for name in ("writer", "reader"):
        make_skill(tmp_path, name)
    library = Library([build_indexed_source(tmp_path)])
    assert names_of(library) == ["reader", "writer"]
    (tmp_path / "writer" / "SKILL.md").write_bytes(b"\xff\x00")
    assert library.refresh()
    assert names_of(library) == ["reader"]
    assert any("writer" in f"{problem.locator} {problem.name}" for problem in library.problems())


def test_sources_that_cannot_tell_keep_what_they_found(tmp_path: Path) -> None:
    make_skill(tmp_path, "writer")
    far = Unreachable()
    library = Library([build_indexed_source(tmp_path), far])
    assert names_of(library) == ["distant", "writer"]
    make_skill(tmp_path, "editor")
    assert library.refresh()
    assert (names_of(library), far.searches) == (["distant", "editor", "writer"], 1)


def test_a_narrowed_library_stays_narrow(tmp_path: Path) -> None:
    make_skill(tmp_path, "writer")
    library = Library([build_indexed_source(tmp_path)]).only(["writer", "editor"])
    assert names_of(library) == ["writer"]
    for name in ("editor", "painter"):
        make_skill(tmp_path, name)
    assert library.refresh()
    assert names_of(library) == ["editor", "writer"]


def test_explicit_settings_of_a_library_survive_a_refresh(tmp_path: Path) -> None:
    source = MemorySource(ORIGIN, [row("writer", required_env_vars=("KEY",))])
    library = Library([source])
    library.set_variable("KEY", "1")
    assert names_of(library) == ["writer"]
    source.replace([row("writer", required_env_vars=("KEY",)), row("editor")])
    assert library.refresh()
    assert library.missing(library.find_by_name("writer")) == ()


@pytest.mark.parametrize(
    ("policy", "seconds", "found"), [("ttl", 10, False), ("ttl", 301, True), ("manual", 9e9, False)]
)
def test_kept_searches_are_good_for_as_long_as_their_policy_says(policy: Policy, seconds: float, found: bool) -> None:
    now = [0.0]
    source, scans = MemorySource(ORIGIN, [row("writer")]), Scans(lambda: now[0])
    library = Library([apply_refresh_policy(source, "key", policy, 300, scans)])
    assert names_of(library) == ["writer"]
    source.replace([row("editor")])
    now[0] = seconds
    assert library.refresh() is found
    assert names_of(library) == (["editor"] if found else ["writer"])


def test_a_requested_refresh_is_noticed() -> None:
    source, scans = MemorySource(ORIGIN, [row("writer")]), Scans()
    first, second = (Library([apply_refresh_policy(source, "key", "manual", 300, scans)]) for _ in range(2))
    assert names_of(first) == names_of(second) == ["writer"]
    source.replace([row("editor")])
    scans.refresh()
    assert first.refresh()
    assert second.refresh(), "the search that the other one made is as good"
    assert names_of(first) == names_of(second) == ["editor"]


def test_marks_tell_what_came_changed_and_went(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        make_skill(tmp_path, name, text=skill_text(name, f"Does {name}."))
    library = Library([build_indexed_source(tmp_path)])
    known = decode_marks(compute_marks(library).data)
    make_skill(tmp_path, "two", text=skill_text("two", "Does something else."))
    (tmp_path / "three").rename(tmp_path / "four")
    (tmp_path / "four" / "SKILL.md").write_text(skill_text("four", "Does three."))
    os.utime(tmp_path)
    assert library.refresh()
    delta = compute_delta(known, build_entries(library.list()))
    assert [entry.mention for entry in delta.added] == ["$[web:mvp].four"]
    assert [entry.mention for entry in delta.changed] == ["$[web:mvp].two"]
    assert delta.removed == ("$[web:mvp].three",)
