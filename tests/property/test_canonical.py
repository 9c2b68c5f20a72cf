"""Canonical JSON: one spelling for one value, which anybody can compute again."""

import hashlib
import json
import random
from typing import Any, cast

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.errors import ValidationFailed
from skills_runtime.events import canonical_json, fingerprint

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SAFE = 2**53 - 1
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-SAFE, SAFE) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


def _read(data: bytes) -> Any:
    """The value, with numbers as the standard understands them."""
    return json.loads(data, parse_int=float)


def _shuffled(value: Any, order: random.Random) -> Any:
    """The same value, with the keys of every object in another order."""
    match value:
        case dict():
            items = list(cast(dict[str, Any], value).items())
            order.shuffle(items)
            return {key: _shuffled(inner, order) for key, inner in items}
        case list():
            return [_shuffled(inner, order) for inner in cast(list[Any], value)]
        case _:
            return value


@given(value=JSON, order=st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_matter(value: Any, order: random.Random) -> None:
    assert canonical_json(_shuffled(value, order)) == canonical_json(value)


@given(value=JSON)
def test_the_canonical_form_means_the_same_value(value: Any) -> None:
    assert _read(canonical_json(value)) == value


@given(value=JSON)
def test_the_canonical_form_of_the_canonical_form_is_itself(value: Any) -> None:
    once = canonical_json(value)
    assert canonical_json(_read(once)) == once


@given(value=JSON)
def test_a_fingerprint_can_be_computed_with_a_standard_implementation(value: Any) -> None:
    assert fingerprint(value) == "sha256:" + hashlib.sha256(rfc8785.dumps(value)).hexdigest()


@given(left=JSON, right=JSON)
def test_two_values_share_a_fingerprint_only_when_they_are_equal(left: Any, right: Any) -> None:
    assert (fingerprint(left) == fingerprint(right)) == (canonical_json(left) == canonical_json(right))
    if canonical_json(left) == canonical_json(right):
        assert left == right


def test_the_examples_of_the_standard_come_out_as_printed_there() -> None:
    value = {"numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 1e-27], "literals": [None, True, False]}
    expected = '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27]}'
    assert canonical_json(value) == expected.encode()


@pytest.mark.parametrize("value", [2**53 + 1, float("nan"), float("inf"), "\ud800", {1: 2}, {"a": object()}])
def test_what_has_no_canonical_form_is_refused_in_our_words(value: Any) -> None:
    with pytest.raises(ValidationFailed):
        canonical_json(value)


def test_nesting_without_end_is_refused_in_our_words() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValidationFailed):
        canonical_json(deep)
    while deep:
        deep = deep.pop()  # letting go of it all at once would need the same depth
