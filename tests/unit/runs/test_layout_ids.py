"""Ids become file names: one rule for all of them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.clock import RandomIds
from skills_runtime.errors import ValidationFailed
from skills_runtime.runs import check_id, is_legal_id

LEGAL = ["a", "0", "run_1", "demo-001", "A.b-c_d", "a" * 128, "x..", "CON", "1.2.3"]
ILLEGAL = [
    "", ".", "..", "-a", "_a", ".a", "a/b", "a\\b", "a b", "a\n", "a\0", "ä", "a" * 129, "../x", "/abs", "~",
    "a:b", "a\u200b",
]  # fmt: skip


@pytest.mark.parametrize("value", LEGAL)
def test_a_legal_id_comes_back(value: str) -> None:
    assert check_id(value, "run") == value


@pytest.mark.parametrize("value", ILLEGAL)
@pytest.mark.parametrize("noun", ["run", "session", "task"])
def test_an_illegal_id_is_refused_by_its_noun(value: str, noun: str) -> None:
    with pytest.raises(ValidationFailed, match=f"not a legal {noun} id") as caught:
        check_id(value, noun)
    assert caught.value.hint
    assert len(caught.value.message) < 200


@given(value=st.text(max_size=140))
def test_a_legal_id_is_always_one_plain_file_name(value: str) -> None:
    if is_legal_id(value):
        assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", value)
        assert "/" not in value
        assert value not in (".", "..")


@pytest.mark.parametrize("kind", ["sess", "task", "run"])
def test_a_generated_id_is_a_sortable_uuid_behind_its_kind(kind: str) -> None:
    calls = [RandomIds().new(kind) for _ in range(50)]
    assert all(re.fullmatch(rf"{kind}_[0-9a-f]{{12}}7[0-9a-f]{{3}}[89ab][0-9a-f]{{15}}", text) for text in calls)
    assert len(set(calls)) == 50
    assert [text[: len(kind) + 13] for text in calls] == sorted(text[: len(kind) + 13] for text in calls)
    assert all(map(is_legal_id, calls))
