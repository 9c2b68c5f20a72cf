"""The behaviours that the public reference suite asks for, through the names of its library."""

from pathlib import Path

import pytest

from tests.support.skills_ref import SkillError, to_prompt
from tests.support.skills_ref.parser import (
    ParseError,
    ValidationError,
    find_skill_md,
    parse_frontmatter,
    read_properties,
)
from tests.support.skills_ref.validator import validate

VALID = "name: my-skill\ndescription: A test skill\n"


def skill_at(root: Path, front: str = VALID, *, name: str = "my-skill", file: str = "SKILL.md") -> Path:
    directory = root / name
    directory.mkdir()
    (directory / file).write_text(f"---\n{front}---\n# My Skill\n", encoding="utf-8")
    return directory


def test_fields_and_body_come_apart() -> None:
    fields, body = parse_frontmatter(f"---\n{VALID}---\n# My Skill\n\nInstructions.\n")
    assert fields == {"name": "my-skill", "description": "A test skill"}
    assert body.startswith("# My Skill")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("# No front matter", "must start with YAML frontmatter"),
        (f"---\n{VALID}", "not properly closed"),
        ("---\nname: [invalid\ndescription: broken\n---\nBody\n", "Invalid YAML"),
        ("---\n- just\n- a\n- list\n---\nBody\n", "must be a YAML mapping"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_parse_error(content: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse_frontmatter(content)


def test_every_field_is_a_property(tmp_path: Path) -> None:
    more = "license: MIT\ncompatibility: uv\nallowed-tools: Bash(jq:*) Bash(git:*)\n"
    read = read_properties(skill_at(tmp_path, f"{VALID}{more}metadata:\n  author: Test Author\n  version: 1.0\n"))
    assert (read.name, read.description, read.license) == ("my-skill", "A test skill", "MIT")
    assert read.metadata == {"author": "Test Author", "version": "1.0"}
    assert read.to_dict()["allowed-tools"] == "Bash(jq:*) Bash(git:*)"
    assert read.to_dict()["compatibility"] == "uv"


@pytest.mark.parametrize(("missing", "left"), [("name", "description: d\n"), ("description", "name: my-skill\n")])
def test_a_required_field_that_is_missing_is_a_validation_error(missing: str, left: str, tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match=f"Missing required field.*{missing}"):
        read_properties(skill_at(tmp_path, left))


def test_a_directory_without_the_file_is_a_parse_error(tmp_path: Path) -> None:
    with pytest.raises(ParseError, match=r"SKILL\.md not found"):
        read_properties(tmp_path)
    assert find_skill_md(tmp_path) is None
    assert issubclass(ParseError, SkillError)


def test_the_file_in_capitals_is_preferred_and_small_letters_are_taken(tmp_path: Path) -> None:
    directory = skill_at(tmp_path, file="skill.md")
    found = find_skill_md(directory)
    assert found is not None
    assert found.name == "skill.md"
    assert read_properties(directory).name == "my-skill"
    (directory / "SKILL.md").write_text("capitals")
    found = find_skill_md(directory)
    assert found is not None
    assert found.name == "SKILL.md"


@pytest.mark.parametrize(
    ("name", "front"),
    [
        ("my-skill", VALID),
        ("my-skill", f"{VALID}license: MIT\nmetadata:\n  author: Test\n"),
        ("my-skill", f"{VALID}allowed-tools: Bash(jq:*) Bash(git:*)\n"),
        ("my-skill", f"{VALID}compatibility: Requires Python 3.11+\n"),
        ("技能", "name: 技能\ndescription: d\n"),
        ("мой-навык", "name: мой-навык\ndescription: d\n"),
        ("навык", "name: навык\ndescription: d\n"),
        ("caf\u00e9", "name: cafe\u0301\ndescription: d\n"),
    ],
)
def test_a_valid_skill_has_no_errors(name: str, front: str, tmp_path: Path) -> None:
    assert validate(skill_at(tmp_path, front, name=name)) == []


@pytest.mark.parametrize(
    ("name", "front", "words"),
    [
        ("MySkill", "name: MySkill\ndescription: d\n", ["lowercase"]),
        ("НАВЫК", "name: НАВЫК\ndescription: d\n", ["lowercase"]),
        ("a" * 70, f"name: {'a' * 70}\ndescription: d\n", ["exceeds", "character limit"]),
        ("-my-skill", "name: -my-skill\ndescription: d\n", ["cannot start or end with a hyphen"]),
        ("my--skill", "name: my--skill\ndescription: d\n", ["consecutive hyphens"]),
        ("my_skill", "name: my_skill\ndescription: d\n", ["invalid characters"]),
        ("wrong-name", "name: correct-name\ndescription: d\n", ["must match skill name"]),
        ("my-skill", f"{VALID}unknown_field: x\n", ["Unexpected fields"]),
        ("my-skill", f"name: my-skill\ndescription: {'x' * 1100}\n", ["exceeds", "1024"]),
        ("my-skill", f"{VALID}compatibility: {'x' * 550}\n", ["exceeds", "500"]),
    ],
)
def test_a_breach_is_reported_in_the_words_of_the_suite(
    name: str, front: str, words: list[str], tmp_path: Path
) -> None:
    errors = validate(skill_at(tmp_path, front, name=name))
    assert any(all(word in error for word in words) for error in errors)


def test_a_path_that_holds_no_skill_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("x")
    (tmp_path / "empty").mkdir()
    for name, words in {
        "no": "does not exist",
        "file.txt": "Not a directory",
        "empty": "Missing required file: SKILL.md",
    }.items():
        (error,) = validate(tmp_path / name)
        assert words in error


def test_the_list_for_a_prompt_escapes_what_skills_say(tmp_path: Path) -> None:
    assert to_prompt([]) == "<available_skills>\n</available_skills>"
    one = skill_at(tmp_path, "name: one\ndescription: Use <foo> & <bar> tags\n", name="one")
    two = skill_at(tmp_path, "name: special\ndescription: d\n", name="special-&-<>")
    text = to_prompt([one, two])
    assert (text.count("<skill>"), text.count("</skill>")) == (2, 2)
    assert "<name>\none\n</name>" in text
    assert "<description>\nUse &lt;foo&gt; &amp; &lt;bar&gt; tags\n</description>" in text
    assert "special-&amp;-&lt;&gt;/SKILL.md" in text
