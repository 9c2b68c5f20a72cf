"""What goes in, what counts as an answer, and the words for everything else."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.errors import ValidationFailed
from skills_runtime.executions.contract import encode_input, parse_output, request_digest, resolve_timeout

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@pytest.mark.parametrize("empty", [None, 0, "", [], {}, False])
def test_an_empty_input_is_an_empty_object(empty: Any) -> None:
    assert encode_input(empty, limit=10) == b"{}"


def test_the_input_is_ascii() -> None:
    assert encode_input({"名": "é"}, limit=100) == b'{"\\u540d": "\\u00e9"}'


@pytest.mark.parametrize("value", [math.nan, {"a": math.inf}, {1, 2}, b"bytes"])
def test_what_is_not_json_is_no_input(value: Any) -> None:
    with pytest.raises(ValidationFailed, match="cannot be written as JSON"):
        encode_input(value, limit=100)


def test_an_input_that_is_too_long_is_refused() -> None:
    with pytest.raises(ValidationFailed, match="longer than 5 bytes"):
        encode_input("12345", limit=5)


def test_requests_are_the_same_whatever_the_order_of_their_keys() -> None:
    assert request_digest("a", b'{"x": 1, "y": 2}') == request_digest("a", b'{"y":2,"x":1}')
    assert request_digest("a", b"{}") != request_digest("b", b"{}")


@given(JSON.filter(lambda value: value is not None))
def test_every_json_value_but_null_is_an_output(value: Any) -> None:
    assert parse_output(json.dumps(value).encode()) == (value, None)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "Skill returned empty output"),
        (b" \n", "Skill returned empty output"),
        (b"null", "Skill returned empty output"),
        (b"hello", "Invalid JSON output: Expecting value: line 1 column 1 (char 0)"),
        (b"{} {}", "Invalid JSON output: Extra data: line 1 column 4 (char 3)"),
        (b'{"a": NaN}', "Invalid JSON output: NaN is not a value of JSON"),
        (b"-Infinity", "Invalid JSON output: -Infinity is not a value of JSON"),
        (b"1e999", "Invalid JSON output: 1e999 is too large a number"),
        (b"[" * 100_000, "Invalid JSON output: it is nested too deeply"),
        (b'"\xff"', "Invalid JSON output: 'utf-8' codec can't decode byte 0xff in position 1: invalid start byte"),
    ],
)
def test_what_is_no_answer_is_named(data: bytes, message: str) -> None:
    output, failure = parse_output(data)
    assert output is None
    assert failure is not None
    assert failure.message == message


@given(st.binary(max_size=200))
def test_no_bytes_make_it_raise(data: bytes) -> None:
    output, failure = parse_output(data)
    assert (output is None) == (failure is not None)


@pytest.mark.parametrize("asked", [0, -1, 10**15, True])
def test_a_time_that_makes_no_sense_is_refused(asked: int) -> None:
    with pytest.raises(ValidationFailed, match="from 1 to 1000 ms"):
        resolve_timeout(asked, None, default=10, longest=1000)


@pytest.mark.parametrize(
    ("asked", "declared", "allowed"), [(5, 7, 5), (None, 7, 7), (None, None, 10), (None, 5000, 1000)]
)
def test_caller_input_overrides_the_skill(asked: int | None, declared: int | None, allowed: int) -> None:
    assert resolve_timeout(asked, declared, default=10, longest=1000) == allowed


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_an_answer_may_have_five_hundred_levels_and_not_one_more(opening: str, closing: str) -> None:
    inner = "1" if closing == "}" else ""
    output, failure = parse_output((opening * 500 + inner + closing * 500).encode())
    assert failure is None
    assert json.loads(encode_input(output, limit=10_000)) == output
    _, failure = parse_output((opening * 501 + inner + closing * 501).encode())
    assert failure is not None
    assert failure.message == "Invalid JSON output: it is nested too deeply"


def test_many_brackets_beside_each_other_or_in_a_text_are_no_levels() -> None:
    values: tuple[Any, ...] = ([[] for _ in range(2_000)], "[" * 2_000, {"a": "{" * 2_000})
    for value in values:
        assert parse_output(json.dumps(value).encode()) == (value, None)
        assert json.loads(encode_input(value, limit=100_000)) == value


def test_an_input_that_is_nested_too_deeply_is_refused() -> None:
    value: Any = ()
    for _ in range(500):
        value = (value,)
    with pytest.raises(ValidationFailed, match="nested too deeply"):
        encode_input(value, limit=100_000)
