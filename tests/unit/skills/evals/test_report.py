"""Rates with intervals."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skills_runtime.skills.evals.report import Spread, difference_of, rate_of, spread_of


def test_the_interval_is_wilsons() -> None:
    rate = rate_of(8, 10)

    assert rate.rate == 0.8
    assert (rate.low, rate.high) == (pytest.approx(0.4902, abs=1e-4), pytest.approx(0.9433, abs=1e-4))


def test_nothing_tried_is_not_a_rate_of_zero() -> None:
    assert rate_of(0, 0).rate is None
    assert difference_of(rate_of(0, 0), rate_of(1, 2)) is None


def test_the_difference_is_newcombes() -> None:
    found = difference_of(rate_of(56, 70), rate_of(48, 80))

    assert found is not None
    assert (found.value, found.low, found.high) == (
        pytest.approx(0.2), pytest.approx(0.0524, abs=1e-4), pytest.approx(0.3339, abs=1e-4)
    )  # fmt: skip
    assert found.clear


def test_few_trials_leave_doubt() -> None:
    found = difference_of(rate_of(2, 2), rate_of(0, 2))

    assert found is not None
    assert found.value == 1.0
    assert found.low < 0.2


@settings(max_examples=200)
@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_rate_lies_in_its_interval(counts: tuple[int, int]) -> None:
    rate = rate_of(*counts)

    assert rate.rate is not None
    assert rate.low is not None
    assert rate.high is not None
    assert 0 <= rate.low <= rate.rate <= rate.high <= 1


def test_a_spread_is_that_of_a_sample() -> None:
    assert spread_of([1, 3]) == Spread(2.0, 2**0.5)
    assert spread_of([4]) == Spread(4.0, 0.0)
    assert spread_of([]) is None
