"""The decision on every command of the corpus, under a small realistic policy."""

from skills_runtime.ports import Intent, ToolSpec
from skills_runtime.safety.guard import assess
from skills_runtime.safety.policy import Allow, Ask, Deny, PolicyDecision, Rules, decide
from tests.unit.safety.guard.corpus import ROWS, Row

SHELL = ToolSpec(name="shell_command", description="", parameters={})
SMALL = Rules(allowlist=("echo", "cat", "git", "pytest"), denylist=("sudo",), root="/workspace")
PERMISSIVE = Rules(mode="allow", denylist=("sudo",), root="/workspace")


def verdict(line: str, rules: Rules = SMALL) -> PolicyDecision:
    return decide(assess(SHELL, Intent(line=line)), rules)


def expected(row: Row) -> tuple[type[PolicyDecision], ...]:
    """What may be decided: an allowed line may still be asked about where only the shell knows all its words."""
    return (Allow, Ask) if row.allowed else (Ask, Deny)


def test_only_what_the_corpus_lets_run_is_allowed() -> None:
    assert [row for row in ROWS if not isinstance(verdict(row.line), expected(row))] == []


def test_what_is_allowed_names_the_entries_that_allow_it() -> None:
    for row in (row for row in ROWS if row.allowed):
        found = verdict(row.line)
        assert not isinstance(found, Allow) or found.rule.startswith("safety.allowlist: "), row.line


def test_high_risk_is_asked_about_or_denied_even_where_everything_is_allowed() -> None:
    for row in (row for row in ROWS if row.level == "high"):
        found = verdict(row.line, PERMISSIVE)
        assert isinstance(found, Ask | Deny), row.line
        assert found.rule, row.line


def test_what_is_not_understood_is_never_allowed() -> None:
    for row in (row for row in ROWS if row.unclear):
        assert isinstance(verdict(row.line, PERMISSIVE), Ask | Deny), row.line


def test_most_of_what_may_run_really_runs_unasked() -> None:
    fine = [row for row in ROWS if row.allowed]
    assert sum(isinstance(verdict(row.line), Allow) for row in fine) >= 0.8 * len(fine)
