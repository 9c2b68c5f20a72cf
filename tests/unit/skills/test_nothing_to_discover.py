"""That there are no skills is remembered, and forgotten as soon as some could be there."""

import time
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.config import resolve
from skills_runtime.skills.discovery import Discovery, nothing, places_of
from skills_runtime.skills.discovery.nothing import HOLDS_NS, SETTLED_NS, Nothing, looked_for_nothing

SKILL = "---\nname: poet\ndescription: Rhymes.\n---\n\nIn rhymes.\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "ticking").touch()
    path = tmp_path / "outer" / "place"
    (path / ".skills_runtime_sdk").mkdir(parents=True)
    return path


@pytest.fixture
def later(place: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How much later it is than it was, so that all directories are old; the disk's own clock has gone on as well."""
    ahead, now = [2 * SETTLED_NS], time.time_ns
    monkeypatch.setattr(nothing.time, "time_ns", lambda: now() + ahead[0])
    ticking, begun = place.parent.parent / "ticking", (place / ".skills_runtime_sdk").stat().st_ctime_ns
    while ticking.stat().st_ctime_ns <= begun:
        ticking.touch()
    return ahead


def look(place: Path, **discovery: Any) -> tuple[bool, Nothing | None]:
    resolved = resolve(place, session_settings={"skills": {"discovery": discovery}})
    return looked_for_nothing(places_of(place, resolved.environment.process), resolved.settings.skills)


def remembered(place: Path, **discovery: Any) -> Nothing:
    found, kept = look(place, **discovery)
    assert not found
    assert kept is not None
    return kept


def test_that_there_is_nothing_holds_while_nothing_changes(place: Path, later: list[int]) -> None:
    kept = remembered(place)
    (place / ".skills_runtime_sdk" / "runs").mkdir()
    assert not kept.holds()
    (place / ".skills_runtime_sdk" / "runs" / "run_1").mkdir()
    later[0] += SETTLED_NS
    assert remembered(place).holds()


@pytest.mark.parametrize(
    "path",
    [
        "place/.agents/skills/poet/SKILL.md",
        "place/.claude/skills/poet/SKILL.md",
        "place/.skills_runtime_sdk/skills/poet/SKILL.md",
        "place/.skills_runtime_sdk/plugins/p/.claude-plugin/plugin.json",
        "place/.claude-plugin/plugin.json",
        "place/.claude-plugin/marketplace.json",
        "place/.agents",
        "place/.git",
        ".git",
    ],
)
def test_whatever_appears_in_or_above_a_project_ends_it(place: Path, later: list[int], path: str) -> None:
    kept = remembered(place)
    made = place.parent / path
    made.parent.mkdir(parents=True, exist_ok=True)
    made.write_text(SKILL)
    assert not kept.holds()


@pytest.mark.parametrize(
    "path",
    [
        ".agents/skills/poet/SKILL.md",
        ".codex/skills/poet/SKILL.md",
        ".config/skills_runtime/skills/poet/SKILL.md",
        ".config/opencode/skills/poet/SKILL.md",
        ".config/skills_runtime/plugins/p/.claude-plugin/plugin.json",
        ".agents/plugins/p/.claude-plugin/plugin.json",
    ],
)
def test_whatever_appears_at_home_ends_it(place: Path, home: Path, later: list[int], path: str) -> None:
    kept = remembered(place)
    made = home / path
    made.parent.mkdir(parents=True)
    made.write_text(SKILL)
    assert not kept.holds()


def test_a_directory_that_was_empty_ends_it_when_something_is_in_it(place: Path, home: Path, later: list[int]) -> None:
    (home / ".claude").mkdir()
    later[0] += SETTLED_NS
    kept = remembered(place)
    (home / ".claude" / "skills").mkdir()
    assert not kept.holds()


def test_the_directory_of_the_machine_ends_it(place: Path, tmp_path: Path, later: list[int]) -> None:
    kept = remembered(place, admin_directory=str(tmp_path / "machine" / "skills"))
    (tmp_path / "machine").mkdir()
    assert not kept.holds()


def test_rights_that_change_end_it(place: Path, later: list[int]) -> None:
    kept = remembered(place)
    (place / ".skills_runtime_sdk").chmod(0o500)
    assert not kept.holds()


def test_a_workspace_that_is_gone_ends_it(place: Path, later: list[int]) -> None:
    kept = remembered(place)
    (place / ".skills_runtime_sdk").rmdir()
    place.rmdir()
    assert not kept.holds()


def test_it_holds_no_longer_than_a_second(place: Path, later: list[int]) -> None:
    kept = remembered(place)
    later[0] += HOLDS_NS
    assert not kept.holds()


def test_it_does_not_hold_when_the_clock_was_set_back(place: Path, later: list[int]) -> None:
    kept = remembered(place)
    later[0] = 0
    assert not kept.holds()


def test_a_directory_that_changed_just_now_is_looked_at_each_time(place: Path) -> None:
    (place / ".skills_runtime_sdk" / "new").mkdir()
    assert look(place) == (False, None)


def test_something_that_was_made_while_somebody_looked_ends_it(
    place: Path, later: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    discover = nothing.discover

    def looking(*given: Any) -> Discovery:
        found = discover(*given)
        (place / ".agents" / "skills").mkdir(parents=True)
        return found

    monkeypatch.setattr(nothing, "discover", looking)
    assert not remembered(place).holds()


def test_skills_that_nobody_trusts_yet_are_not_nothing(place: Path, later: list[int]) -> None:
    (place / ".agents" / "skills").mkdir(parents=True)
    later[0] += SETTLED_NS
    assert look(place) == (False, None)


def test_packages_are_looked_for_each_time(place: Path, later: list[int]) -> None:
    assert look(place, packages=True)[1] is None
