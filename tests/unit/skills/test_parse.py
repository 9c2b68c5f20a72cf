"""SKILL.md: what is read from the front matter, and what is wrong with a broken one."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.skills import Problem
from skills_runtime.skills.parse import FrontMatter, parse_front_matter, required_variables
from skills_runtime.skills.plain_yaml import Unusable, parse_mapping
from tests.unit.skills.samples import skill_text

LIMIT = 65_536


def parsed(text: str | bytes, *, limit: int = LIMIT) -> FrontMatter:
    found = parse_front_matter(text if isinstance(text, bytes) else text.encode(), max_bytes=limit)
    assert isinstance(found, FrontMatter), found
    return found


def problem(text: str | bytes, *, limit: int = LIMIT) -> Problem:
    found = parse_front_matter(text if isinstance(text, bytes) else text.encode(), max_bytes=limit)
    assert isinstance(found, Problem), found
    return found


def test_the_fields_and_the_beginning_of_the_body_are_found() -> None:
    data = skill_text("writer", "Writes.", extra="license: MIT\n", body="# Body\n").encode()
    found = parsed(data)
    assert (found.name, found.description, found.metadata) == ("writer", "Writes.", {"license": "MIT"})
    assert data[found.body_start :] == b"# Body\n"


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf---\nname: ab\ndescription: d\n---\nbody",
        b"---\r\nname: ab\r\ndescription: d\r\n---\r\nbody",
        b"---  \nname: ab\ndescription: d\n---\t\nbody",
        b"---\n{name: ab, description: d}\n---\nbody",
    ],
)
def test_byte_order_marks_and_other_line_ends_do_not_matter(data: bytes) -> None:
    found = parsed(data)
    assert (found.name, found.description) == ("ab", "d")
    assert data[found.body_start :] == b"body"


def test_a_front_matter_may_be_the_whole_file() -> None:
    data = b"---\nname: ab\ndescription: d\n---"
    assert parsed(data).body_start == len(data)


def test_dashes_inside_a_value_do_not_end_the_front_matter() -> None:
    found = parsed("---\nname: ab\ndescription: one --- two\nmore: |\n  ---\n---\nbody")
    assert found.description == "one --- two"
    assert found.metadata == {"more": "---\n"}


def test_every_scalar_stays_the_text_it_was_written_as() -> None:
    extra = "version: 1.0\nyes: no\nwhen: 2026-01-01\nnothing:\nlist: [1, true, null]\n"
    assert parsed(skill_text(extra=extra)).metadata == {
        "version": "1.0",
        "yes": "no",
        "when": "2026-01-01",
        "nothing": "",
        "list": ["1", "true", "null"],
    }


def test_a_tag_makes_nothing() -> None:
    found = parsed(skill_text(extra="bad: !!python/object/apply:os.system [exit]\n"))
    assert found.metadata == {"bad": ["exit"]}


def test_a_description_is_one_visible_line() -> None:
    found = parsed('---\nname: ab\ndescription: "a \\n\\t b \\u202e c"\n---\n')
    assert found.description == r"a b \u202e c"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "does not begin"),
        ("# Title\n", "does not begin"),
        (" ---\nname: ab\n---\n", "does not begin"),
        ("---\nname: ab\ndescription: d\n", "has no end"),
        ("---\nname: ab\ndescription: d\n ---\n", "has no end"),
        ("---\ndescription: d\n---\n", "no `name`"),
        ("---\nname:\ndescription: d\n---\n", "no `name`"),
        ("---\nname: [ab]\ndescription: d\n---\n", "no `name`"),
        ("---\nname: a\ndescription: d\n---\n", "not a name"),
        ("---\nname: Writer\ndescription: d\n---\n", "not a name"),
        ("---\nname: ../../etc\ndescription: d\n---\n", "not a name"),
        ("---\nname: ab\n---\n", "no `description`"),
        ("---\nname: ab\ndescription: '  '\n---\n", "no `description`"),
        ("---\nname: ab\ndescription: {a: b}\n---\n", "no `description`"),
        ("---\n- a\n- b\n---\n", "must be a mapping"),
        ("---\n---\n", "no `name`"),
        ("---\nname: ab\ndescription: a: b\n---\n", "line 2: mapping values are not allowed"),
        ("---\nname: &x ab\ndescription: *x\n---\n", "alias"),
        ("---\n? [a]\n: b\n---\n", "a key is not text"),
        ("---\nname: ab\n...\n--- \n", "no `description`"),
        ("---\nname: ab\n--- {a: b}\n---\n", "more than one document"),
        ("---\nname: \x01\n---\n", "control characters"),
        ("---\nname: ab\ndescription: " + "[" * 100_000 + "\n---\n", "longer than"),
        ("---\nname: ab\ndescription: " + "[" * 60_000 + "\n---\n", "nested"),
        ("---\nname: ab\ndescription: " + "{a: " * 15_000 + "\n---\n", "nested"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(text: str, why: str) -> None:
    found = problem(text)
    assert found.code == "SKILL_SCAN_METADATA_INVALID"
    assert found.severity == "error"
    assert why in found.message
    assert found.hint
    assert found.message.isprintable()


def test_bytes_that_are_no_text_are_named() -> None:
    assert "byte 6 is not UTF-8" in problem(b"---\nname: \xff\n---\n").message


def test_the_limit_of_a_front_matter_is_exact() -> None:
    text = skill_text()
    size = text.index("\n---\n") + 1 - len("---\n")
    assert parsed(text, limit=size)
    assert "longer than" in problem(text, limit=size - 1).message


def test_a_front_matter_cut_off_by_the_limit_is_too_long_whatever_follows() -> None:
    text = f"---\nname: ab\ndescription: {'x' * 1000}\n---\n".encode()
    for read in range(600, len(text)):
        assert "longer than 500" in problem(text[:read], limit=500).message


@given(st.binary(max_size=300))
def test_no_bytes_make_it_raise(data: bytes) -> None:
    parse_front_matter(data, max_bytes=200)
    parse_front_matter(b"---\n" + data + b"\n---\n", max_bytes=500)
    required_variables(data)


@given(st.text(alphabet="abn:{}[]-#&*!|>'\"%@`,? \n\t\r\x00\x85\u2028\ufeff\ud7ff", max_size=80))
def test_no_text_makes_it_raise(text: str) -> None:
    found = parse_front_matter(f"---\nname: ab\n{text}\n---\n".encode(), max_bytes=1000)
    if isinstance(found, FrontMatter):
        assert found.name
        assert found.description.isprintable()


def test_required_variables_are_those_declared_with_a_legal_name() -> None:
    text = """
dependencies:
  tools:
    - {type: env_var, value: API_KEY}
    - {type: env_var, value: "bad name"}
    - {type: mcp, value: SERVER}
    - {type: env_var, value: API_KEY}
    - {type: env_var}
    - env_var
    - {type: env_var, value: _other9}
"""
    assert required_variables(text.encode()) == ("API_KEY", "_other9")


@pytest.mark.parametrize("text", ["", "a: b", "dependencies: x", "dependencies: {tools: x}", "dependencies: [a]"])
def test_nothing_is_required_where_nothing_is_declared(text: str) -> None:
    assert required_variables(text.encode()) == ()


def test_declarations_that_are_no_yaml_are_a_problem() -> None:
    found: Any = required_variables(b"[")
    assert found.code == "SKILL_SCAN_METADATA_INVALID"


def test_the_last_of_two_equal_keys_counts() -> None:
    assert parse_mapping(b"a: 1\na: 2") == {"a": "2"}


def test_nesting_is_allowed_up_to_its_limit() -> None:
    assert parse_mapping(b"a: " + b"[" * 30 + b"]" * 30)
    with pytest.raises(Unusable, match="nested"):
        parse_mapping(b"a: " + b"[" * 31 + b"]" * 31)
