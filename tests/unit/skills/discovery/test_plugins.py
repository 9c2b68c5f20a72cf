"""Plugins and packages: skills that are called by the name of what they come with."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.unit.skills.discovery.homes import User, codes, mentions, put


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


def plugin(directory: Path, manifest: Any, file: str = ".claude-plugin/plugin.json") -> Path:
    """A directory with a manifest."""
    (directory / file).parent.mkdir(parents=True)
    (directory / file).write_text(manifest if isinstance(manifest, str) else json.dumps(manifest))
    return directory


@pytest.mark.parametrize("base", [".agents/plugins", ".config/skills_runtime/plugins"])
@pytest.mark.parametrize("file", [".claude-plugin/plugin.json", ".codex-plugin/plugin.json"])
def test_the_skills_of_a_plugin_are_called_by_its_name(user: User, base: str, file: str) -> None:
    put(plugin(user.home / base / "dir", {"name": "My Tools"}, file) / "skills", "review")
    library = user.library()
    assert mentions(library) == ["$[plugin:my-tools].review"]
    assert library.find_by_name("my-tools:review") == library.find_by_name("review") == library.list()[0]


def test_a_plugin_hides_nothing_and_is_hidden_by_nothing(user: User) -> None:
    put(user.home / ".agents/skills", "review", where="user")
    for name in ("one", "two"):
        path = user.home / ".agents/plugins" / name
        put(plugin(path, {"name": f"tools-{name}"}) / "skills", "review", where=name)
    library = user.library()
    assert mentions(library) == ["$[plugin:tools-one].review", "$[plugin:tools-two].review", "$[user].review"]
    assert library.find_by_name("review").namespace == "user"
    assert codes(library) == []


def test_a_manifest_may_name_other_directories_inside_the_plugin(user: User) -> None:
    path = plugin(user.home / ".agents/plugins/dir", {"name": "tools", "skills": ["./more/", "./single"]})
    put(path / "more", "one")
    put(path, "single")
    assert mentions(user.library()) == ["$[plugin:tools].one", "$[plugin:tools].single"]


@pytest.mark.parametrize("path", ["../outside", "/etc", "a/../../b", 7, ["x"]])
def test_a_manifest_cannot_name_what_is_outside(user: User, path: Any) -> None:
    put(user.home / ".agents/plugins/outside", "writer")
    plugin(user.home / ".agents/plugins/dir", {"name": "tools", "skills": [path]})
    put(user.home / ".agents/skills", "mine")
    library = user.library()
    assert mentions(library) == ["$[user].mine"]
    assert codes(library) == [("SKILL_PLUGIN_INVALID", "tools")]


@pytest.mark.parametrize("manifest", ["", "{", "[]", "{}", '{"name": 3}', '{"name": " "}', "[" * 200_000])
def test_a_broken_manifest_is_reported_by_its_directory_and_hides_nothing(user: User, manifest: str) -> None:
    put(plugin(user.home / ".agents/plugins/bad", manifest) / "skills", "lost")
    put(user.home / ".agents/skills", "mine")
    library = user.library()
    assert mentions(library) == ["$[user].mine"]
    assert codes(library) == [("SKILL_PLUGIN_INVALID", "bad")]


def test_a_marketplace_offers_the_plugins_that_are_in_it(user: User) -> None:
    here = {"name": "docs", "source": "./", "skills": ["./skills/pdf"]}
    there = {"name": "remote", "source": {"source": "github", "repo": "a/b"}}
    path = user.home / ".agents/plugins/market"
    plugin(path, {"name": "m", "plugins": [here, there]}, ".claude-plugin/marketplace.json")
    put(path / "skills", "pdf")
    put(path / "skills", "hidden")
    assert mentions(user.library()) == ["$[plugin:docs].pdf"]


def test_the_plugins_of_a_project_need_its_trust(user: User) -> None:
    put(plugin(user.project, {"name": "itself"}) / "skills", "one")
    put(plugin(user.project / ".agents/plugins/dir", {"name": "inner"}) / "skills", "two")
    assert codes(user.library()) == [("SKILL_FOLDER_UNTRUSTED", "")]
    user.trust()
    assert mentions(user.library()) == ["$[plugin:inner].two", "$[plugin:itself].one"]


def test_two_plugins_of_one_name_keep_their_skills_apart(user: User) -> None:
    for name in ("one", "two"):
        put(plugin(user.home / ".agents/plugins" / name, {"name": "tools"}) / "skills", name)
    library = user.library()
    assert mentions(library) == ["$[plugin:tools].one", "$[plugin:tools].two"]
    assert [library.body(skill) for skill in library.list()] == ["Do it.\n", "Do it.\n"]


def test_plugins_can_be_switched_off(user: User) -> None:
    put(plugin(user.home / ".agents/plugins/dir", {"name": "tools"}) / "skills", "review")
    assert mentions(user.library(plugins=False)) == []


def test_the_skills_of_installed_packages_count_when_they_are_asked_for(
    user: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    put(site / "nice_package/.agents/skills", "nice")
    put(user.project / "local_package/.agents/skills", "local")
    monkeypatch.setattr(sys, "path", [str(site), str(user.project)])
    assert mentions(user.library()) == []
    assert mentions(user.library(packages=True)) == ["$[package:nice-package].nice"]
    put(site / "other/.agents/skills", "later")
    assert len(mentions(user.library(packages=True))) == 2
