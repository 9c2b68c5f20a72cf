"""The decision on every command of the corpus, under a small realistic policy."""

import pytest

from skills_runtime.ports import Intent, ToolSpec
from skills_runtime.safety.guard import assess
from skills_runtime.safety.policy import Allow, Ask, Deny, Rules, Verdict, decide
from tests.unit.safety.guard.corpus import ROWS, Row

SHELL = ToolSpec(name="shell_command", description="", parameters={})
SMALL = Rules(allowlist=("echo", "cat", "git", "pytest"), denylist=("sudo",), root="/workspace")
PERMISSIVE = Rules(mode="allow", denylist=("sudo",), root="/workspace")


def verdict(line: str, rules: Rules = SMALL) -> Verdict:
    return decide(assess(SHELL, Intent(line=line)), rules)


def expected(row: Row) -> tuple[type[Verdict], ...]:
    """What may be decided: an allowed line may still be asked about where only the shell knows all its words."""
    return (Allow, Ask) if row.allowed else (Ask, Deny)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: repr(row.line)[:80])
def test_only_what_the_corpus_lets_run_is_allowed(row: Row) -> None:
    assert isinstance(verdict(row.line), expected(row))


@pytest.mark.parametrize("row", [row for row in ROWS if row.allowed], ids=lambda row: repr(row.line)[:80])
def test_what_is_allowed_names_the_entries_that_allow_it(row: Row) -> None:
    found = verdict(row.line)
    if isinstance(found, Allow):
        assert found.rule.startswith("safety.allowlist: ")


@pytest.mark.parametrize("row", [row for row in ROWS if row.level == "high"], ids=lambda row: repr(row.line)[:80])
def test_high_risk_is_asked_about_or_denied_even_where_everything_is_allowed(row: Row) -> None:
    found = verdict(row.line, PERMISSIVE)
    assert isinstance(found, Ask | Deny)
    assert found.rule


@pytest.mark.parametrize("row", [row for row in ROWS if row.unclear], ids=lambda row: repr(row.line)[:80])
def test_what_is_not_understood_is_never_allowed(row: Row) -> None:
    assert isinstance(verdict(row.line, PERMISSIVE), Ask | Deny)


def test_most_of_what_may_run_really_runs_unasked() -> None:
    fine = [row for row in ROWS if row.allowed]
    assert sum(isinstance(verdict(row.line), Allow) for row in fine) >= 0.8 * len(fine)
