"""Every command of the corpus is judged as it says there."""

from skills_runtime.safety.guard import read_line
from tests.unit.safety.guard.corpus import ROWS, Row, may_run


def judged(row: Row) -> Row:
    """The row as the guard would write it."""
    reading = read_line(row.line)
    return Row(row.line, reading.risk.level, bool(reading.unclear), may_run(reading), reading.risk.reason)


def test_every_command_is_judged_as_the_corpus_says() -> None:
    assert [(row, now) for row in ROWS if (now := judged(row)) != row] == []


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


def test_a_risk_says_which_part_caused_it() -> None:
    for row in ROWS:
        if row.level == "low":
            continue
        risk = read_line(row.line).risk
        assert risk.reason, row.line
        if risk.span is not None:
            start, end = risk.span
            assert 0 <= start <= end <= len(row.line), row.line
