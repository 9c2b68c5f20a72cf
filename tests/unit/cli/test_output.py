"""Numbers and times that are short to read."""

import pytest

from skills_runtime.cli.output import (
    format_age,
    format_count,
    format_duration,
    local_time,
    milliseconds_between,
    plural,
)


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (None, "-"),
        (0, "0 ms"),
        (999, "999 ms"),
        (1000, "1.0 s"),
        (59_940, "59.9 s"),
        (59_960, "1 min 00 s"),
        (61_000, "1 min 01 s"),
        (3_660_000, "1 h 01 min"),
    ],
)
def test_durations_are_as_people_say_them(milliseconds: float | None, text: str) -> None:
    assert format_duration(milliseconds) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (999, "999"), (1000, "1.0k"), (18_234, "18.2k"), (999_949, "999.9k"), (999_950, "1.0M")],
)
def test_numbers_are_short(number: int, text: str) -> None:
    assert format_count(number) == text


def test_one_is_not_many() -> None:
    assert [plural(number, "step") for number in (0, 1, 2)] == ["0 steps", "1 step", "2 steps"]


@pytest.mark.parametrize("broken", [None, "", "yesterday", "2026-01-01T00:00:00"])
def test_a_timestamp_that_is_none_is_a_dash(broken: str | None) -> None:
    assert local_time(broken) == "-"
    assert milliseconds_between(broken, "2026-01-01T00:00:01Z") is None


def test_the_time_between_two_events_is_in_milliseconds() -> None:
    assert milliseconds_between("2026-01-01T00:00:00.500000Z", "2026-01-01T00:00:02Z") == 1500


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59, "59 s"), (60, "1 min"), (3599, "60 min"), (7200, "2 h"), (86_400, "1 day"), (604_799, "7 days")],
)
def test_a_span_of_time_fits_a_table(seconds: int, text: str) -> None:
    assert format_age(seconds * 1000) == text


def test_an_unknown_span_is_a_dash_and_a_past_one_is_zero() -> None:
    assert (format_age(None), format_age(-5)) == ("-", "0 s")
