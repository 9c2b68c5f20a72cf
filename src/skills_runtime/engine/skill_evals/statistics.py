"""Rates with the intervals that small numbers of trials deserve.

Pure. Wilson's interval for one rate, Newcombe's for the difference of two.
"""

import math
from collections.abc import Sequence

import msgspec

Z = 1.959963984540054
"""The standard normal quantile for 95 %."""


class Rate(msgspec.Struct, frozen=True):
    """How many of how many, and between which rates the true one lies with 95 % confidence."""

    hits: int
    trials: int
    rate: float | None
    low: float | None
    high: float | None


class Difference(msgspec.Struct, frozen=True):
    """How much larger one rate is than another."""

    value: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """Whether the interval leaves no doubt about the direction."""
        return self.low > 0 or self.high < 0


class Spread(msgspec.Struct, frozen=True):
    """The mean of some numbers, and how far they lie apart."""

    mean: float
    stddev: float


def rate_of(hits: int, trials: int) -> Rate:
    """The rate; none where nothing was tried."""
    if trials == 0:
        return Rate(0, 0, None, None, None)
    share, square = hits / trials, Z * Z
    middle = (share + square / (2 * trials)) / (1 + square / trials)
    half = Z / (1 + square / trials) * math.sqrt(share * (1 - share) / trials + square / (4 * trials * trials))
    low = 0.0 if hits == 0 else max(0.0, middle - half)
    high = 1.0 if hits == trials else min(1.0, middle + half)
    return Rate(hits, trials, share, low, high)


def difference_of(one: Rate, other: Rate) -> Difference | None:
    """How much larger the first rate is; nothing where one of them is unknown."""
    if one.rate is None or one.low is None or one.high is None:
        return None
    if other.rate is None or other.low is None or other.high is None:
        return None
    value = one.rate - other.rate
    below = math.hypot(one.rate - one.low, other.high - other.rate)
    above = math.hypot(one.high - one.rate, other.rate - other.low)
    return Difference(value, max(-1.0, value - below), min(1.0, value + above))


def spread_of(numbers: Sequence[float]) -> Spread | None:
    """Mean and standard deviation of a sample; nothing where there are no numbers."""
    if not numbers:
        return None
    mean = math.fsum(numbers) / len(numbers)
    squares = math.fsum((one - mean) ** 2 for one in numbers)
    return Spread(mean, math.sqrt(squares / (len(numbers) - 1)) if len(numbers) > 1 else 0.0)
