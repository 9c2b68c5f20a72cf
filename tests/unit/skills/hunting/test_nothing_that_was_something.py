"""What is reached through links, and what plugins name, can appear where no directory shows it by its name."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.config import resolve
from skills_runtime.skills.discovery import nothing, places_of
from skills_runtime.skills.discovery.nothing import SETTLED_NS, Nothing, is_settled, looked_for_nothing


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace at a time when all directories of the test are old."""
    now = time.time_ns  # the clock of the disk goes on by itself while settings are read
    monkeypatch.setattr(nothing.time, "time_ns", lambda: now() + 2 * SETTLED_NS)
    path = tmp_path / "place"
    path.mkdir()
    return path


def look(place: Path, **discovery: Any) -> tuple[bool, Nothing | None]:
    resolved = resolve(place, session_settings={"skills": {"discovery": discovery}})
    return looked_for_nothing(places_of(place, resolved.environment.process), resolved.settings.skills)


def is_believed(kept: tuple[bool, Nothing | None]) -> bool:
    """Whether somebody who looked before would go on as if there were nothing."""
    found, nothing_there = kept
    assert not found
    return nothing_there is not None and nothing_there.holds()


@pytest.mark.parametrize("link", [".agents", ".agents/skills", ".claude", ".claude/skills"])
def test_a_link_of_the_user_that_leads_nowhere_may_lead_somewhere_later(
    place: Path, home: Path, tmp_path: Path, link: str
) -> None:
    (home / link).parent.mkdir(exist_ok=True)
    (home / link).symlink_to(tmp_path / "elsewhere" / "it")
    (tmp_path / "elsewhere").mkdir()
    kept = look(place)
    (tmp_path / "elsewhere" / "it" / "skills").mkdir(parents=True)
    assert look(place)[0]
    assert not is_believed(kept)


def test_a_link_to_a_link_that_leads_nowhere_may_lead_somewhere_later(place: Path, home: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (home / ".agents").symlink_to(tmp_path / "between")
    (tmp_path / "between").symlink_to(tmp_path / "elsewhere" / "it")
    kept = look(place)
    (tmp_path / "elsewhere" / "it" / "skills").mkdir(parents=True)
    assert look(place)[0]
    assert not is_believed(kept)


@pytest.mark.parametrize("setting", ["directory", "admin_directory"])
@pytest.mark.parametrize("link", ["named", "named/deeper"])
def test_a_directory_that_the_settings_name_may_lie_behind_a_link(
    place: Path, tmp_path: Path, setting: str, link: str
) -> None:
    target = tmp_path / "elsewhere"
    target.mkdir()
    (tmp_path / link).parent.mkdir(exist_ok=True)
    (tmp_path / link).symlink_to(target / "it")
    wanted = {setting: str(tmp_path / "named" / "deeper" / "skills")}
    kept = look(place, **wanted)
    (target / "it" / "deeper" / "skills").mkdir(parents=True)
    (target / "it" / "skills").mkdir(parents=True)
    assert look(place, **wanted)[0]
    assert not is_believed(kept)


def test_a_named_directory_may_lie_deeper_than_anybody_looks_up(place: Path, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    deep = tmp_path.joinpath(*["d"] * 70, "skills")
    kept = look(place, admin_directory=str(deep))
    deep.mkdir(parents=True)
    assert look(place, admin_directory=str(deep))[0]
    assert not is_believed(kept)


def test_a_plugin_may_be_put_into_a_directory_of_plugins_that_was_empty(place: Path, home: Path) -> None:
    plugins = home / ".agents" / "plugins"
    plugins.mkdir(parents=True)
    kept = look(place)
    plugin(plugins / "poet")
    assert look(place)[0]
    assert not is_believed(kept)


@pytest.mark.parametrize("missing", ["skills", ".claude-plugin"])
def test_a_plugin_may_become_whole(place: Path, home: Path, tmp_path: Path, missing: str) -> None:
    aside = tmp_path / "aside" / "it"
    aside.parent.mkdir()
    poet = home / ".agents" / "plugins" / "poet"
    plugin(poet)
    (poet / missing).rename(aside)
    kept = look(place)
    aside.rename(poet / missing)
    assert look(place)[0]
    assert not is_believed(kept)


def test_a_manifest_of_the_project_may_be_written_anew_in_its_place(place: Path) -> None:
    plugin(place, skills="nowhere")
    (place / "inner" / "skills").mkdir(parents=True)
    kept = look(place)
    manifest(place).write_text(json.dumps({"name": "poet", "skills": "inner/skills"}))
    assert not is_believed(kept)


def test_what_a_manifest_of_the_project_names_may_appear_deeper_in_it(place: Path) -> None:
    plugin(place, skills="inner/skills")
    (place / "inner").mkdir()
    kept = look(place)
    (place / "inner" / "skills").mkdir()
    assert not is_believed(kept)


def test_a_manifest_of_the_project_may_be_a_link_that_leads_nowhere_yet(place: Path, tmp_path: Path) -> None:
    (place / "skills").mkdir()
    manifest(place).parent.mkdir()
    manifest(place).symlink_to(tmp_path / "plugin.json")
    kept = look(place)
    (tmp_path / "plugin.json").write_text(json.dumps({"name": "poet"}))
    assert not is_believed(kept)


@pytest.mark.parametrize(("changed_ms", "settled"), [(2_900, True), (2_990, False), (2_000, False), (0, True)])
def test_a_disk_that_counts_whole_seconds_shows_a_change_later(changed_ms: int, settled: bool) -> None:
    assert is_settled(changed_ms * 1_000_000, 3_000_000_000) is settled


def test_a_repository_does_not_keep_anybody_from_remembering(place: Path) -> None:
    (place / ".git").mkdir()
    assert is_believed(look(place))


def test_links_that_lead_to_directories_do_not_keep_anybody_from_remembering(
    place: Path, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (home / ".agents").symlink_to(tmp_path / "elsewhere")
    kept = look(place)
    assert is_believed(kept)
    (tmp_path / "elsewhere" / "skills").mkdir()
    assert not is_believed(kept)


def plugin(place: Path, **more: Any) -> None:
    """A plugin, with skills unless it says otherwise."""
    manifest(place).parent.mkdir(parents=True)
    manifest(place).write_text(json.dumps({"name": "poet", **more}))
    if "skills" not in more:
        (place / "skills").mkdir()


def manifest(place: Path) -> Path:
    """Where a plugin tells of itself."""
    return place / ".claude-plugin" / "plugin.json"
