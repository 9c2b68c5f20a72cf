"""A few changed skills among many are read again by themselves, and the rest of the index stays as it is."""

from pathlib import Path

import pytest

from skills_runtime.skills import FilesystemSource, Report
from skills_runtime.skills.index import source as source_module
from skills_runtime.skills.index.source import MAX_REVISED, RECENT
from skills_runtime.skills.sources.search import Memory, Search
from tests.unit.skills.index.trees import ORIGIN, found_again, index_files, indexed, next_tick
from tests.unit.skills.samples import make_skill, skill_text

SKILLS = 5


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """Some skills that were searched once, and may be edited now."""
    for number in range(SKILLS):
        make_skill(tmp_path / "skills", f"skill-{number}", text=skill_text(f"skill-{number}"))
    indexed(tmp_path).skills()
    next_tick(tmp_path)
    return tmp_path


def _refuse(*_: object) -> None:
    raise AssertionError("this was not to happen")


def edit(base: Path, number: int, *, description: str = "Is new.") -> None:
    file = base / "skills" / f"skill-{number}" / "SKILL.md"
    file.write_text(skill_text(f"skill-{number}", description=description))


def fresh(base: Path) -> object:
    """What a search finds that remembers nothing."""
    RECENT.clear()
    return FilesystemSource(ORIGIN, base / "skills").skills()


@pytest.mark.parametrize("numbers", [(0,), (SKILLS - 1,), (1, 3), tuple(range(SKILLS))])
def test_changed_skills_are_found_without_a_whole_search(
    base: Path, numbers: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in numbers:
        edit(base, number)
    expected = fresh(base)
    monkeypatch.setattr(FilesystemSource, "search", _refuse)

    assert found_again(base) == expected
    assert found_again(base) == expected


def test_a_skill_that_gets_and_loses_a_file_is_found_the_same(base: Path) -> None:
    file = base / "skills" / "skill-1" / "skill.yaml"
    file.write_text('{"name": "skill-1", "runtime": {"type": "shell"}}')
    assert found_again(base) == fresh(base)
    next_tick(base)
    file.unlink()

    assert found_again(base) == fresh(base)


def test_a_skill_that_breaks_is_reported_and_hides_no_other(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (base / "skills" / "skill-2" / "SKILL.md").write_text("nothing")
    monkeypatch.setattr(FilesystemSource, "search", _refuse)

    report = found_again(base)

    assert [one.name for one in report.skills] == ["skill-0", "skill-1", "skill-3", "skill-4"]
    assert [one.name for one in report.problems] == ["skill-2"]


def test_a_directory_that_is_no_skill_any_more_is_searched(base: Path) -> None:
    (base / "skills" / "skill-2" / "SKILL.md").unlink()
    make_skill(base / "skills" / "skill-2", "inner", text=skill_text("inner"))

    assert found_again(base) == fresh(base)


def test_where_very_many_have_changed_everything_is_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(MAX_REVISED + 1):
        make_skill(tmp_path / "skills", f"skill-{number}", text=skill_text(f"skill-{number}"))
    indexed(tmp_path).skills()
    next_tick(tmp_path)
    for number in range(MAX_REVISED + 1):
        edit(tmp_path, number)
    expected = fresh(tmp_path)
    searched: list[object] = []
    search = FilesystemSource.search

    def noted(source: FilesystemSource, how: Search, memory: Memory | None = None) -> Report:
        searched.append(source)
        return search(source, how, memory)

    monkeypatch.setattr(FilesystemSource, "search", noted)

    assert found_again(tmp_path) == expected
    assert len(searched) == 1


def test_what_has_just_changed_is_not_written_and_still_seen(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (before,) = [file.read_bytes() for file in index_files(base)]
    edit(base, 1)
    with monkeypatch.context() as patch:
        patch.setattr(source_module, "save", _refuse)
        assert found_again(base, ahead_ns=0) == fresh(base)
    assert [file.read_bytes() for file in index_files(base)] == [before]

    assert found_again(base) == fresh(base)
    assert [file.read_bytes() for file in index_files(base)] != [before]
