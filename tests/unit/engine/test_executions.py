"""The skills that can be executed: one directory each, seen anew each time, and what is wrong with others."""

import json
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.engine.executions import SkillRegistry
from skills_runtime.errors import NotFound


def skill(root: Path, directory: str, **fields: Any) -> Path:
    path = root / directory
    path.mkdir(parents=True)
    definition = {"name": directory, "runtime": {"type": "python"}, **fields}
    (path / "skill.yaml").write_text(json.dumps(definition))
    (path / "run.py").touch()
    return path


def knows(registry: SkillRegistry, name: str) -> bool:
    try:
        return bool(registry.find(name))
    except NotFound:
        return False


def names(root: Path) -> list[str]:
    return [found.run.name for found in SkillRegistry(root, {}).list_skills().skills if found.run is not None]


def test_skills_stand_in_the_order_of_their_directories(tmp_path: Path) -> None:
    skill(tmp_path, "b", name="first")
    skill(tmp_path, "a", name="second")
    assert names(tmp_path) == ["second", "first"]


def test_only_directories_of_the_directory_are_skills(tmp_path: Path) -> None:
    skill(tmp_path, "outer/inner")
    skill(tmp_path, ".hidden")
    skill(tmp_path, "own")
    assert names(tmp_path) == ["own"]


def test_a_directory_that_is_not_executable_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "prose").mkdir()
    (tmp_path / "prose" / "SKILL.md").write_text("no front matter")
    (tmp_path / "empty").mkdir()
    listing = SkillRegistry(tmp_path, {}).list_skills()
    assert (listing.skills, listing.errors) == ((), ())


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "../evil"},
        {"name": ""},
        {"runtime": {"type": "ruby"}},
        {"artifacts": "a.txt"},
        {"timeout": -1},
    ],
)
def test_a_broken_definition_is_an_error_with_the_name_of_its_directory(tmp_path: Path, fields: dict[str, Any]) -> None:
    skill(tmp_path, "broken", **fields)
    listing = SkillRegistry(tmp_path, {}).list_skills()
    assert listing.skills == ()
    (error,) = listing.errors
    assert error.startswith("broken: ")


@pytest.mark.parametrize("path", ["/etc/passwd", "a/../../b", "../escaped.txt"])
def test_a_skill_that_declares_an_artifact_elsewhere_is_reported_and_can_run_without_it(
    tmp_path: Path, path: str
) -> None:
    skill(tmp_path, "reaches-out", artifacts=["own.txt", path])
    listing = SkillRegistry(tmp_path, {}).list_skills()
    assert [found.name for found in listing.skills] == ["reaches-out"]
    (error,) = listing.errors
    assert error.startswith("reaches-out: ")
    assert path in error


@pytest.mark.parametrize("instead", ["nothing", "directory", "link"])
def test_a_skill_without_its_program_is_an_error_and_not_offered(tmp_path: Path, instead: str) -> None:
    program = skill(tmp_path, "hollow") / "run.py"
    program.unlink()
    if instead == "directory":
        program.mkdir()
    elif instead == "link":
        program.symlink_to("/etc/passwd")
    registry = SkillRegistry(tmp_path, {})
    assert registry.list_skills().skills == ()
    (error,) = registry.list_skills().errors
    assert error.startswith("hollow: ")
    assert knows(registry, "hollow"), "whoever executes it is told what it lacks"


def test_of_two_skills_with_one_name_the_first_counts_and_the_other_is_an_error(tmp_path: Path) -> None:
    first = skill(tmp_path, "a", name="same")
    skill(tmp_path, "b", name="same")
    registry = SkillRegistry(tmp_path, {})
    assert registry.find("same").directory == first
    assert registry.list_skills().errors == ("b: the name `same` is that of another skill already",)


def test_a_skill_is_found_by_its_name_and_by_its_mention_but_not_by_its_path(tmp_path: Path) -> None:
    skill(tmp_path, "directory", name="known")
    registry = SkillRegistry(tmp_path, {})
    assert registry.find("known") == registry.find("$[local].known")
    assert [text for text in ("directory", "./known", "../known", "") if knows(registry, text)] == []


def test_what_changes_is_seen_by_a_registry_that_was_there_before(tmp_path: Path) -> None:
    registry = SkillRegistry(tmp_path, {})
    assert not knows(registry, "new")
    path = skill(tmp_path, "new")
    assert knows(registry, "new")
    (path / "skill.yaml").unlink()
    assert not knows(registry, "new")


def test_a_directory_that_is_not_there_has_no_skills_and_says_so(tmp_path: Path) -> None:
    listing = SkillRegistry(tmp_path / "nowhere", {}).list_skills()
    assert listing.skills == ()
    assert len(listing.errors) == 1
