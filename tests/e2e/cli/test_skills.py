"""skills new, validate and show: a skill from nothing to a verdict."""

import json
from pathlib import Path

import pytest

from tests.e2e.cli.programs import invoke
from tests.unit.skills.samples import make_skill, skill_text

CONFIG = """
skills:
  spaces: [{id: a, namespace: web, sources: [one]}, {id: b, namespace: shop, sources: [two]}]
  sources:
  - {id: one, type: filesystem, options: {root: one}}
  - {id: two, type: filesystem, options: {root: two}}
"""


def test_a_new_skill_is_valid_and_says_what_it_was_told(workspace: Path) -> None:
    made = invoke("skills", "new", "release-notes", "--description", 'Writes: "notes" #1.')
    assert (made.code, made.out) == (0, ".agents/skills/release-notes/SKILL.md\n")
    checked = invoke("skills", "validate", ".agents/skills/release-notes", "--json")
    assert checked.code == 0
    assert json.loads(checked.out) == {
        "valid": True,
        "skills": [{"path": ".agents/skills/release-notes", "name": "release-notes", "valid": True, "diagnostics": []}],
    }
    shown = json.loads(invoke("skills", "show", ".agents/skills/release-notes", "--json").out)
    assert (shown["description"], shown["files"]) == ('Writes: "notes" #1.', ["SKILL.md"])


@pytest.mark.parametrize("name", ["Release", "a--b", "../up", "a b", "", "x" * 65])
def test_a_name_that_is_none_makes_nothing(name: str, workspace: Path) -> None:
    made = invoke("skills", "new", name)
    assert (made.code, made.out) == (20, "")
    assert "kind: validation" in made.err
    assert list(workspace.iterdir()) == []


def test_what_is_there_is_not_overwritten(workspace: Path) -> None:
    directory = make_skill(workspace / "skills", "writer")
    made = invoke("skills", "new", "writer", "--dir", "skills")
    assert made.code == 20
    assert "is there already" in made.err
    assert (directory / "SKILL.md").read_text() == skill_text()


def test_a_breach_is_an_error_strictly_and_none_leniently(workspace: Path) -> None:
    make_skill(workspace, "writer", text=skill_text(extra="version: 1\n"))
    strict = invoke("skills", "validate", "writer")
    assert strict.code == 20
    assert "error   SKILL.md:4  Unexpected fields in frontmatter: 'version' [unexpected_fields]" in strict.out
    assert invoke("skills", "validate", "writer", "--strict").code == 20
    assert invoke("skills", "validate", "writer/SKILL.md", "--lenient").code == 0


def test_every_skill_below_a_directory_is_validated(workspace: Path) -> None:
    make_skill(workspace, "all/good")
    make_skill(workspace, "all/group/bad", text="nothing")
    answer = invoke("skills", "validate", "all")
    assert answer.code == 20
    assert "valid     all/good\n" in answer.out
    assert "not valid all/group/bad\n" in answer.out
    assert answer.out.endswith("2 skills: 1 valid, 1 not\n")


@pytest.mark.parametrize(("path", "code"), [("nowhere", 22), ("file", 20), ("empty", 20)])
def test_a_path_without_a_skill_has_a_code_of_its_own(path: str, code: int, workspace: Path) -> None:
    (workspace / "file").write_text("x")
    (workspace / "empty").mkdir()
    assert invoke("skills", "validate", path).code == code


def test_both_modes_at_once_make_no_sense(workspace: Path) -> None:
    answer = invoke("skills", "validate", ".", "--strict", "--lenient")
    assert (answer.code, answer.out) == (2, "")


def test_a_skill_of_the_settings_is_shown_by_name_or_mention(workspace: Path) -> None:
    (workspace / "c.yaml").write_text(CONFIG)
    make_skill(workspace, "one/writer", text=skill_text(extra="license: MIT\nallowed-tools: Read, Edit\n"))
    make_skill(workspace, "one/both")
    make_skill(workspace, "two/both")
    by_name = invoke("skills", "show", "writer", "--config", "c.yaml")
    assert by_name.code == 0
    assert "mention: $[web].writer\n" in by_name.out
    assert "allowed tools: Read, Edit\n" in by_name.out
    by_mention = json.loads(invoke("skills", "show", "$[shop].both", "--config", "c.yaml", "--json").out)
    assert by_mention["mention"] == "$[shop].both"
    ambiguous = invoke("skills", "show", "both", "--config", "c.yaml")
    assert ambiguous.code == 20
    assert "`$[web].both` or `$[shop].both`" in ambiguous.err


@pytest.mark.parametrize("what", ["nothing", "no/where", ".", "$[web].gone"])
def test_what_is_no_skill_is_not_found(what: str, workspace: Path) -> None:
    answer = invoke("skills", "show", what)
    assert (answer.code, answer.out) == (22, "")


def test_hostile_text_of_a_skill_cannot_reach_the_terminal(workspace: Path) -> None:
    make_skill(workspace, "writer", text='---\nname: writer\ndescription: "a\\e[31m\\u202eb"\n---\n')
    shown = invoke("skills", "show", "writer").out
    assert "\x1b" not in shown
    assert "\u202e" not in shown
