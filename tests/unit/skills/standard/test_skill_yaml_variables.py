"""YAML of which every scalar stays text, and the variables that a skill declares in it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.skills.standard.skill_yaml import parse_required_variables
from skills_runtime.skills.standard.yaml import MAX_ALIASED, Unusable, parse_mapping, parse_text


def test_every_scalar_stays_the_text_it_was_written_as() -> None:
    text = b"version: 1.0\nyes: no\nwhen: 2026-01-01\nnothing:\nlist: [1, true, null]\n"
    assert parse_mapping(text) == {
        "version": "1.0",
        "yes": "no",
        "when": "2026-01-01",
        "nothing": "",
        "list": ["1", "true", "null"],
    }


def test_a_tag_makes_nothing() -> None:
    assert parse_mapping(b"bad: !!python/object/apply:os.system [exit]\n") == {"bad": ["exit"]}


def test_an_alias_stands_for_what_its_anchor_marks() -> None:
    assert parse_mapping(b"a: &x one\nb: *x\nc: &y [1, 2]\nd: {e: *y}\n") == {
        "a": "one",
        "b": "one",
        "c": ["1", "2"],
        "d": {"e": ["1", "2"]},
    }


def test_aliases_cannot_make_a_long_text_of_a_short_one() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9)
    )
    with pytest.raises(Unusable, match="aliases stand for too much"):
        parse_mapping(bomb.encode())
    long = f"a: &a {'x' * (MAX_ALIASED // 2)}\n"
    assert parse_mapping(f"{long}b: *a\n".encode())
    with pytest.raises(Unusable, match="too much"):
        parse_mapping(f"{long}b: [*a, *a]\n".encode())


@pytest.mark.parametrize("text", ["a: &a [*a]", "a: *b", "a: &a {b: *a}"])
def test_an_alias_of_nothing_or_of_itself_is_refused(text: str) -> None:
    with pytest.raises(Unusable, match="stands for nothing"):
        parse_mapping(text.encode())


def test_the_last_of_two_equal_keys_counts_and_both_are_reported() -> None:
    document = parse_text("a: 1\nb: {c: 1, c: 2}\na: 2")
    assert document.value == {"a": "2", "b": {"c": "2"}}
    assert document.repeated == (("c", 2), ("a", 3))


def test_nesting_is_allowed_up_to_its_limit() -> None:
    assert parse_mapping(b"a: " + b"[" * 30 + b"]" * 30)
    with pytest.raises(Unusable, match="nested"):
        parse_mapping(b"a: " + b"[" * 31 + b"]" * 31)


def test_what_is_no_yaml_is_reported_with_its_place() -> None:
    with pytest.raises(Unusable, match="line 2: mapping values are not allowed") as caught:
        parse_text("name: ab\ndescription: a: b\n")
    assert (caught.value.line, caught.value.column) == (2, 15)


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
    assert parse_required_variables(text.encode()) == ("API_KEY", "_other9")


@pytest.mark.parametrize("text", ["", "a: b", "dependencies: x", "dependencies: {tools: x}", "dependencies: [a]"])
def test_nothing_is_required_where_nothing_is_declared(text: str) -> None:
    assert parse_required_variables(text.encode()) == ()


def test_declarations_that_are_no_yaml_are_a_problem() -> None:
    found: Any = parse_required_variables(b"[")
    assert found.code == "SKILL_SCAN_METADATA_INVALID"


@given(st.binary(max_size=300))
def test_no_bytes_make_declarations_raise(data: bytes) -> None:
    parse_required_variables(data)
