"""The gate's pure part: what a request is called, and what may be shown of it."""

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.ports import ToolSpec
from skills_runtime.safety import approval_key, sanitize
from skills_runtime.text import well_formed

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
REQUESTS = st.dictionaries(TEXT, JSON, max_size=3)
SPEC = ToolSpec(
    name="t",
    description="d",
    parameters={"type": "object", "properties": {"path": {}, "content": {}}},
    hidden_arguments=("content",),
)


@given(left=REQUESTS, right=REQUESTS)
def test_two_requests_share_a_key_only_when_they_are_equal(left: dict[str, Any], right: dict[str, Any]) -> None:
    if approval_key("t", left) == approval_key("t", right):
        assert left == right


@given(request=REQUESTS)
def test_a_key_does_not_depend_on_the_order_of_the_arguments(request: dict[str, Any]) -> None:
    assert approval_key("t", dict(reversed(request.items()))) == approval_key("t", request)


@given(request=REQUESTS)
def test_the_same_request_to_another_tool_has_another_key(request: dict[str, Any]) -> None:
    assert approval_key("t", request) != approval_key("u", request)


def test_hidden_values_are_shown_as_size_and_digest() -> None:
    shown = sanitize(SPEC, {"path": "a", "content": "grüß"})
    assert shown == {"path": "a", "content": {"bytes": 6, "sha256": hashlib.sha256("grüß".encode()).hexdigest()}}


@pytest.mark.parametrize("value", ["", "x", {"deep": "secret"}, ["secret"], None, 7, "\ud800"])
def test_a_hidden_value_of_any_type_stays_hidden(value: Any) -> None:
    shown = sanitize(SPEC, {"content": value})
    assert shown["content"].keys() - {"type"} == {"bytes", "sha256"}


def test_an_argument_the_tool_does_not_know_is_hidden_too() -> None:
    assert sanitize(SPEC, {"contents": "secret"})["contents"].keys() == {"bytes", "sha256"}


def test_everything_of_an_unknown_tool_is_hidden() -> None:
    assert sanitize(None, {"a": "secret"})["a"].keys() == {"bytes", "sha256"}


def test_a_tool_that_declares_no_arguments_by_name_shows_them() -> None:
    anything = ToolSpec(name="t", description="d", parameters={"type": "object"})
    assert sanitize(anything, {"a": 1}) == {"a": 1}


@given(text=st.text(st.characters(), max_size=20))
def test_text_is_always_made_text(text: str) -> None:
    made = well_formed(text)
    made.encode()
    assert well_formed(made) == made


@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_good_text_is_left_alone(text: str) -> None:
    assert well_formed(text) == text


def test_halves_of_a_character_are_joined() -> None:
    assert well_formed("a\ud83d\ude00b\ud83d") == "a😀b�"
