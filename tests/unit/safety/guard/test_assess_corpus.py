"""Every command of the corpus is judged as it says there."""

import pytest

from skills_runtime.safety.guard import read_line
from tests.unit.safety.guard.corpus import ROWS, Row, may_run


@pytest.mark.parametrize("row", ROWS, ids=lambda row: repr(row.line)[:80])
def test_a_command_is_judged_as_the_corpus_says(row: Row) -> None:
    reading = read_line(row.line)
    assert (reading.risk.level, bool(reading.unclear), reading.risk.reason, may_run(reading)) == (
        row.level,
        row.unclear,
        row.reason,
        row.allowed,
    )


def test_the_corpus_is_large_and_holds_every_command_once() -> None:
    assert len(ROWS) >= 400
    assert len({row.line for row in ROWS}) == len(ROWS)


def test_the_corpus_holds_all_kinds() -> None:
    assert {(row.level, row.unclear) for row in ROWS} >= {
        ("low", False),
        ("medium", False),
        ("medium", True),
        ("high", False),
        ("high", True),
    }
    assert sum(row.allowed for row in ROWS) >= 80


@pytest.mark.parametrize("row", [row for row in ROWS if row.level != "low"], ids=lambda row: repr(row.line)[:80])
def test_a_risk_says_which_part_caused_it(row: Row) -> None:
    risk = read_line(row.line).risk
    assert risk.reason
    if risk.span is not None:
        start, end = risk.span
        assert 0 <= start <= end <= len(row.line)
