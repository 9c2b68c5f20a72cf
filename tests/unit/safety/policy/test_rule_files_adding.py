"""Rules added to a file: its own text stays to the letter, and nothing is ever half written or lost."""

import stat
import threading
from pathlib import Path

import pytest

from skills_runtime.errors import ConfigError, StorageFailed
from skills_runtime.safety.policy import Rule, add_rule, load_rules
from tests.support.users import Unprivileged

RULE = Rule(name="new", effect="allow", command=(("git", "status"),), justification="reads only")


def names(path: Path) -> list[str]:
    return [rule.name for rule in load_rules(path.read_text(), origin="f")]


def test_a_file_is_made_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "new" / "rules.yaml"
    add_rule(path, RULE)
    assert path.read_text() == (
        "rules:\n  - name: new\n    effect: allow\n    command: git status\n    justification: reads only\n"
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# only a comment",
        "rules:\n",
        "rules:\n# nothing yet\n",
        "# ours\nrules:\n  - {name: a, effect: deny, tool: b}   # why\n\n# the end",
        "rules:\n- name: a\n  effect: deny\n  tool: b\n",
        "rules:\n        - name: a\n          effect: deny\n          tool: b\n",
        "- name: a\n  effect: deny\n  tool: b",
        "\ufeffrules:\r\n  - name: a\r\n    effect: deny\r\n    tool: b\r\n",
        "rules:\n  - name: a\n    effect: deny\n    tool: b\n    justification: |+\n      text\n\n\n",
    ],
)
def test_what_was_there_stays_to_the_letter(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rules.yaml"
    path.write_bytes(text.encode())
    before = load_rules(text, origin=str(path))
    add_rule(path, RULE)
    data = path.read_bytes()
    assert data.startswith(text.encode())
    assert load_rules(data.decode(), origin=str(path))[:-1] == before
    assert names(path)[-1] == "new"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rules: [{name: a, effect: deny, tool: b}]\n", "flow list"),
        ("rules:\n  - {name: a, effect: deny, tool: b}\n...\n", "rules.yaml"),
        ("rules:\n  - {name: new, effect: deny, tool: b}\n", "already stands on line 2"),
        ("rules: {\n", "not YAML"),
        ("rules:\n  - {name: a}\n", "`effect` must be one of"),
    ],
)
def test_a_file_that_cannot_be_added_to_is_left_alone(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=words) as caught:
        add_rule(path, RULE)
    assert caught.value.hint
    assert path.read_text() == text
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [".rules.yaml.lock", "rules.yaml"]


def test_a_rule_that_could_not_be_loaded_is_not_added(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    with pytest.raises(ConfigError, match="does not say what it is about"):
        add_rule(path, Rule(name="new", effect="allow"))
    assert not path.exists()


def test_the_same_rule_is_added_once(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    add_rule(path, RULE)
    before = path.read_bytes()
    add_rule(path, RULE)
    assert path.read_bytes() == before


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, path = tmp_path / "dotfiles.yaml", tmp_path / "rules.yaml"
    target.write_text("# mine\n")
    path.symlink_to(target)
    add_rule(path, RULE)
    assert path.is_symlink()
    assert names(target) == ["new"]


def test_additions_at_the_same_time_are_all_kept(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    rules = [Rule(name=f"rule {number}", effect="deny", tool=(f"tool_{number}",)) for number in range(12)]
    threads = [threading.Thread(target=add_rule, args=(path, rule)) for rule in rules]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(names(path)) == sorted(rule.name for rule in rules)


def test_a_place_that_may_not_be_written_is_reported(unprivileged: Unprivileged) -> None:
    def attempt() -> str:
        place = unprivileged.path / "closed"
        place.mkdir(mode=0o500)
        try:
            add_rule(place / "rules.yaml", RULE)
        except StorageFailed as error:
            return error.message
        return "added"

    assert "could not be added" in unprivileged(attempt)
