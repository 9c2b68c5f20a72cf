"""Skills that change among others that do not: each edit is found, and only what changed is read again."""

from pathlib import Path
from typing import Any

import pytest

from skills_runtime.skills import FilesystemSource
from skills_runtime.skills.sources import filesystem
from skills_runtime.skills.sources import filesystem_index as source_module
from skills_runtime.skills.sources.filesystem import ReadSkill, SkillDirectory, read_skill
from tests.unit.skills.samples import make_skill, skill_text
from tests.unit.skills.sources.trees import ORIGIN, found_again, index_files, indexed, next_tick

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
    return FilesystemSource(ORIGIN, base / "skills").skills()


@pytest.mark.parametrize("numbers", [(0,), (SKILLS - 1,), (1, 3), tuple(range(SKILLS))])
def test_only_changed_skills_are_read_again(
    base: Path, numbers: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in numbers:
        edit(base, number)
    expected = fresh(base)
    read: list[str] = []

    def noting(found: SkillDirectory, *others: Any) -> ReadSkill:
        read.append(found.parts[0])
        return read_skill(found, *others)

    monkeypatch.setattr(filesystem, "read_skill", noting)

    assert found_again(base) == expected
    assert found_again(base) == expected
    assert read == [f"skill-{number}" for number in numbers]


def test_a_skill_that_gets_and_loses_a_file_is_found_the_same(base: Path) -> None:
    file = base / "skills" / "skill-1" / "skill.yaml"
    file.write_text('{"name": "skill-1", "runtime": {"type": "shell"}}')
    assert found_again(base) == fresh(base)
    next_tick(base)
    file.unlink()

    assert found_again(base) == fresh(base)


def test_a_skill_that_breaks_is_reported_and_hides_no_other(base: Path) -> None:
    (base / "skills" / "skill-2" / "SKILL.md").write_text("nothing")

    report = found_again(base)

    assert [one.name for one in report.skills] == ["skill-0", "skill-1", "skill-3", "skill-4"]
    assert [one.name for one in report.problems] == ["skill-2"]


def test_a_directory_that_is_no_skill_any_more_is_searched(base: Path) -> None:
    (base / "skills" / "skill-2" / "SKILL.md").unlink()
    make_skill(base / "skills" / "skill-2", "inner", text=skill_text("inner"))

    assert found_again(base) == fresh(base)


def test_what_has_just_changed_is_not_written_and_still_seen(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (before,) = [file.read_bytes() for file in index_files(base)]
    edit(base, 1)
    with monkeypatch.context() as patch:
        patch.setattr(source_module, "save_index", _refuse)
        assert found_again(base, ahead_ns=0) == fresh(base)
    assert [file.read_bytes() for file in index_files(base)] == [before]

    assert found_again(base) == fresh(base)
    assert [file.read_bytes() for file in index_files(base)] != [before]
