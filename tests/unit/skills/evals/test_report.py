"""Rates with intervals."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skills_runtime.skills.evals.report import Spread, compute_difference, compute_rate, compute_spread


def test_the_interval_is_wilsons() -> None:
    rate = compute_rate(8, 10)

    assert rate.rate == 0.8
    assert (rate.low, rate.high) == (pytest.approx(0.4902, abs=1e-4), pytest.approx(0.9433, abs=1e-4))


def test_nothing_tried_is_not_a_rate_of_zero() -> None:
    assert compute_rate(0, 0).rate is None
    assert compute_difference(compute_rate(0, 0), compute_rate(1, 2)) is None


def test_the_difference_is_newcombes() -> None:
    difference = compute_difference(compute_rate(56, 70), compute_rate(48, 80))

    assert difference is not None
    assert (difference.value, difference.low, difference.high) == (
        pytest.approx(0.2), pytest.approx(0.0524, abs=1e-4), pytest.approx(0.3339, abs=1e-4)
    )  # fmt: skip
    assert difference.clear


def test_few_trials_leave_doubt() -> None:
    difference = compute_difference(compute_rate(2, 2), compute_rate(0, 2))

    assert difference is not None
    assert difference.value == 1.0
    assert difference.low < 0.2


@settings(max_examples=200)
@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_rate_lies_in_its_interval(counts: tuple[int, int]) -> None:
    rate = compute_rate(*counts)

    assert rate.rate is not None
    assert rate.low is not None
    assert rate.high is not None
    assert 0 <= rate.low <= rate.rate <= rate.high <= 1


def test_a_spread_is_that_of_a_sample() -> None:
    assert compute_spread([1, 3]) == Spread(2.0, 2**0.5)
    assert compute_spread([4]) == Spread(4.0, 0.0)
    assert compute_spread([]) is None
