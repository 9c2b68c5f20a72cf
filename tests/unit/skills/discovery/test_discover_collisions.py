"""Places that want the same name: every skill keeps its own text, and the worst among them hides no other."""

import json
import os
from pathlib import Path

import pytest

from skills_runtime.skills.skill import Mention
from tests.unit.skills.discovery.homes import User, codes, mentions, put
from tests.unit.skills.samples import make_skill, skill_text


@pytest.fixture
def user(tmp_path: Path) -> User:
    found = User(tmp_path)
    found.trust()
    return found


def plugin(directory: Path, name: str, skill: str, body: str) -> None:
    """A plugin of this name with one skill."""
    (directory / ".claude-plugin").mkdir(parents=True)
    (directory / ".claude-plugin" / "plugin.json").write_text(json.dumps({"name": name}))
    make_skill(directory / "skills", skill, text=skill_text(skill, body=body))


def body(user: User, namespace: str, name: str) -> str:
    library = user.library()
    return library.body(library.find(Mention(namespace, name)))


def test_plugins_of_one_name_in_two_places_each_have_their_texts(user: User) -> None:
    plugin(user.project / ".agents/plugins/tool", "tool", "ours", "Of the project.\n")
    plugin(user.home / ".agents/plugins/tool", "tool", "mine", "Of the user.\n")
    assert body(user, "plugin:tool", "ours") == "Of the project.\n"
    assert body(user, "plugin:tool", "mine") == "Of the user.\n"


def test_plugins_whose_names_become_the_same_each_have_their_texts(user: User) -> None:
    plugin(user.home / ".agents/plugins/a", "My Tool", "first", "One.\n")
    plugin(user.home / ".agents/plugins/b", "my-tool", "second", "Two.\n")
    assert body(user, "plugin:my-tool", "first") == "One.\n"
    assert body(user, "plugin:my-tool", "second") == "Two.\n"


def test_the_worst_directory_hides_no_skill(user: User) -> None:
    root = user.project / ".agents/skills"
    put(root, "good")
    for name in ("pipe", "folder", "linked", "huge", "bytes"):
        (root / name).mkdir()
    os.mkfifo(root / "pipe" / "SKILL.md")
    (root / "folder" / "SKILL.md").mkdir()
    (root / "linked" / "SKILL.md").symlink_to("/etc/passwd")
    (root / "bytes" / "SKILL.md").write_bytes(bytes(range(256)))
    with (root / "huge" / "SKILL.md").open("wb") as file:
        file.write(skill_text("huge").encode())
        file.truncate(100 << 20)
    (root / "self").symlink_to("self")
    (root / "up").symlink_to("..")
    library = user.library()
    assert "$[project].good" in mentions(library)
    names = {name for _, name in codes(library)}
    assert names >= {"pipe", "folder", "linked", "huge", "bytes", "self", "up"}


def test_a_name_with_line_breaks_and_escapes_is_reported_on_one_line(user: User) -> None:
    make_skill(user.home / ".agents/skills", "we\n\x1b[31mird", text="no front matter")
    (problem,) = user.library().problems()
    assert problem.locator.isprintable()
    assert problem.message.isprintable()
