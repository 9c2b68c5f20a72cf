"""The rules of a run: the user's files, and what a project may add to them."""

from pathlib import Path
from typing import Any

import pytest

from skills_runtime.config import Resolved, resolve
from skills_runtime.errors import ConfigError, NotFound
from skills_runtime.ports import FileTouch
from skills_runtime.safety.guard import Facts
from skills_runtime.safety.policy import Deny, decide
from skills_runtime.safety.policy.rule_files import load_active_rules

DENY = "rules:\n  - {name: no-x, effect: deny, tool: x}\n"
ALLOW = "rules:\n  - {name: all-x, effect: allow, tool: x}\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "workspace"
    (place / "config").mkdir(parents=True)
    return place.resolve()


@pytest.fixture
def own(home: Path) -> Path:
    place = home / ".config" / "skills_runtime"
    place.mkdir(parents=True)
    return place


def resolved(workspace: Path, home: Path, **settings: Any) -> Resolved:
    return resolve(workspace, session_settings={"safety": settings}, environ={"HOME": str(home)})


def test_settings_become_rules(workspace: Path, home: Path) -> None:
    rules = load_active_rules(
        resolved(
            workspace, home, mode="deny", allowlist=["a"], denylist=["b"], tool_allowlist=["c"], tool_denylist=["d"]
        )
    ).rules
    assert (rules.mode, rules.allowlist, rules.denylist) == ("deny", ("a",), ("b",))
    assert (rules.tool_allowlist, rules.tool_denylist) == (("c",), ("d",))
    assert (rules.root, rules.home, rules.rules) == (str(workspace), str(home), ())


def test_the_users_own_file_holds_when_it_is_there(workspace: Path, home: Path, own: Path) -> None:
    (own / "rules.yaml").write_text(ALLOW)
    (rule,) = load_active_rules(resolved(workspace, home)).rules.rules
    assert (rule.name, rule.effect) == ("all-x", "allow")
    assert rule.origin == "~/.config/skills_runtime/rules.yaml"


def test_files_named_in_the_settings_hold_too(workspace: Path, home: Path, own: Path) -> None:
    (own / "rules.yaml").write_text(DENY)
    (home / "more.yaml").write_text(ALLOW)
    rules = load_active_rules(
        resolved(workspace, home, rule_files=["~/more.yaml", str(own / "rules.yaml")])
    ).rules.rules
    assert [rule.name for rule in rules] == ["no-x", "all-x"]


def test_a_named_file_that_is_missing_is_an_error(workspace: Path, home: Path) -> None:
    with pytest.raises(NotFound, match=r"more\.yaml"):
        load_active_rules(resolved(workspace, home, rule_files=["~/more.yaml"]))


def test_a_project_may_deny_and_not_allow(workspace: Path, home: Path) -> None:
    (workspace / "config/rules.yaml").write_text(DENY + "  - {name: all-y, effect: allow, tool: y}\n")
    read = load_active_rules(resolved(workspace, home))
    assert [rule.name for rule in read.rules.rules] == ["no-x"]
    assert read.notices == (
        "rule `all-y` in `config/rules.yaml` was ignored: the rules of a project may deny and ask, not allow",
    )


def test_a_project_file_that_the_user_names_has_the_users_trust(workspace: Path, home: Path) -> None:
    (workspace / "config/rules.yaml").write_text(ALLOW)
    read = load_active_rules(resolved(workspace, home, rule_files=["config/rules.yaml"]))
    assert [rule.name for rule in read.rules.rules] == ["all-x"]
    assert read.notices == ()


def test_a_project_cannot_name_rule_files_itself(workspace: Path, home: Path) -> None:
    (workspace / "mine.yaml").write_text(ALLOW)
    (workspace / "config/runtime.yaml").write_text("safety: {rule_files: [../mine.yaml]}\n")
    found = resolve(workspace, environ={"HOME": str(home)})
    assert load_active_rules(found).rules.rules == ()
    assert "only the user's own configuration may set it" in found.notices[0]


@pytest.mark.parametrize("text", ["rules: ]", "rules: text", "- {name: a}"])
def test_a_file_that_is_not_understood_is_an_error_and_never_empty(workspace: Path, home: Path, text: str) -> None:
    (workspace / "config/rules.yaml").write_text(text)
    with pytest.raises(ConfigError, match=r"config/rules\.yaml` line 1"):
        load_active_rules(resolved(workspace, home))


def test_the_places_of_the_runtime_are_out_of_reach_wherever_they_are(workspace: Path, home: Path) -> None:
    (home / "more.yaml").write_text(DENY)
    environ = {
        "HOME": str(home),
        "XDG_CONFIG_HOME": "/etc/xdg-me",
        "XDG_STATE_HOME": "/var/state-me",
        "SKILLS_RUNTIME_SDK_KEYS_DIR": "/srv/shared-keys",
    }
    session = {"safety": {"mode": "allow", "rule_files": ["~/more.yaml"]}}
    rules = load_active_rules(resolve(workspace, session_settings=session, environ=environ)).rules
    for path in (
        "/etc/xdg-me/skills_runtime/rules.yaml",
        "/var/state-me/skills_runtime/ledger.db",
        "/srv/shared-keys/log.key",
        "~/more.yaml",
    ):
        facts = Facts(tool="file_read", effect="read", files=(FileTouch(path=path, touch="read"),))
        assert isinstance(decide(facts, rules), Deny), path


def test_explicitly_named_configuration_is_not_changed_unasked(workspace: Path, home: Path) -> None:
    (workspace / "special.yaml").write_text("safety: {mode: allow}\n")
    rules = load_active_rules(
        resolve(workspace, config_paths=[workspace / "special.yaml"], environ={"HOME": str(home)})
    ).rules
    facts = Facts(tool="file_write", files=(FileTouch(path="special.yaml", touch="overwrite"),))
    assert decide(facts, rules).rule == "built in: configuration of the next run"


def folder_rule(folder: Path | str, effect: str = "allow") -> str:
    return f"rules:\n  - {{name: here, effect: {effect}, tool: x, folder: {folder}}}\n"


def test_a_rule_for_a_folder_holds_there_and_nowhere_else(workspace: Path, home: Path, own: Path) -> None:
    (own / "rules.yaml").write_text(folder_rule(workspace))
    (rule,) = load_active_rules(resolved(workspace, home)).rules.rules
    assert rule.label == "rule `here` (~/.config/skills_runtime/rules.yaml, this folder only)"
    other = workspace.parent / "workspace-2"
    for path in (other, workspace / "config"):
        path.mkdir(exist_ok=True)
        assert load_active_rules(resolved(path, home)).rules.rules == ()


def test_the_folder_of_a_rule_is_the_real_one(workspace: Path, home: Path, own: Path) -> None:
    link = workspace.parent / "link"
    link.symlink_to(workspace)
    (own / "rules.yaml").write_text(folder_rule(workspace))
    assert len(load_active_rules(resolved(link, home)).rules.rules) == 1
    (own / "rules.yaml").write_text(folder_rule(link))  # whoever moves the link must not move the permission
    assert load_active_rules(resolved(workspace, home)).rules.rules == ()


def test_a_folder_may_be_named_from_home(home: Path, own: Path) -> None:
    project = home.resolve() / "project"
    project.mkdir()
    (own / "rules.yaml").write_text(folder_rule("~/project"))
    assert len(load_active_rules(resolved(project, home.resolve())).rules.rules) == 1


def test_a_project_allows_nothing_by_naming_its_folder(workspace: Path, home: Path) -> None:
    (workspace / "config/rules.yaml").write_text(folder_rule(workspace))
    loaded = load_active_rules(resolved(workspace, home))
    assert loaded.rules.rules == ()
    assert "rule `here` in `config/rules.yaml` was ignored" in loaded.notices[0]


@pytest.mark.parametrize("folder", ["project", "/a/../b", "/a/", "//a/./b", "~other/x", "''"])
def test_a_folder_that_is_no_path_is_an_error(folder: str, workspace: Path, home: Path, own: Path) -> None:
    (own / "rules.yaml").write_text(folder_rule(folder))
    with pytest.raises(ConfigError, match="folder"):
        load_active_rules(resolved(workspace, home))


def test_a_rule_about_nothing_but_a_folder_is_an_error(workspace: Path, home: Path, own: Path) -> None:
    (own / "rules.yaml").write_text(f"rules:\n  - {{name: here, effect: allow, folder: {workspace}}}\n")
    with pytest.raises(ConfigError, match="does not say what it is about"):
        load_active_rules(resolved(workspace, home))


def test_a_deny_rule_of_everywhere_beats_an_allow_rule_of_the_folder(workspace: Path, home: Path, own: Path) -> None:
    (own / "rules.yaml").write_text(folder_rule(workspace) + DENY.removeprefix("rules:\n"))
    rules = load_active_rules(resolved(workspace, home)).rules
    assert isinstance(decide(Facts(tool="x"), rules), Deny)
