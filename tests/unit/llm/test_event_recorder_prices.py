"""What an answer costs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.llm import Price, cost_of

PRICE = Price(input=2.0, cached_input=0.5, output=8.0)
TOKENS = st.integers(0, 10_000_000)


def test_a_price_is_for_a_million_tokens() -> None:
    assert cost_of(PRICE, 1_000_000, 0) == 2.0
    assert cost_of(PRICE, 0, 1_000_000) == 8.0


def test_cached_tokens_are_a_part_of_the_input() -> None:
    assert cost_of(PRICE, 1_000_000, 0, 400_000) == pytest.approx(0.6 * 2.0 + 0.4 * 0.5)


def test_without_a_price_of_their_own_cached_tokens_cost_like_others() -> None:
    assert cost_of(Price(input=2.0, output=8.0), 1_000_000, 0, 400_000) == 2.0


def test_more_cached_tokens_than_tokens_do_not_make_money() -> None:
    assert cost_of(PRICE, 10, 0, 1_000_000) == cost_of(PRICE, 10, 0, 10)


def test_cached_tokens_may_be_free() -> None:
    assert cost_of(Price(input=2.0, cached_input=0.0, output=8.0), 100, 0, 100) == 0.0


def test_a_cost_is_written_without_noise() -> None:
    assert repr(cost_of(Price(input=0.1, output=0.2), 1, 1)) == "3e-07"


@given(TOKENS, TOKENS, TOKENS)
def test_the_cache_never_makes_an_answer_dearer(used_in: int, used_out: int, cached: int) -> None:
    assert 0 <= cost_of(PRICE, used_in, used_out, cached) <= cost_of(PRICE, used_in, used_out)
