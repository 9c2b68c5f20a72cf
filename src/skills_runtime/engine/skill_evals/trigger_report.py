"""What the queries of an evaluation say: how often the skill is called, and what is called where it is not there.

Pure. Without the skill the same other skills are there: they show who would have been called in its place, or nobody.
"""

from collections import Counter
from collections.abc import Sequence

import msgspec

from skills_runtime.engine.skill_evals.evaluation import Trial
from skills_runtime.engine.skill_evals.statistics import (
    Difference,
    Rate,
    Spread,
    difference_of,
    rate_of,
    spread_of,
)
from skills_runtime.engine.skill_evals.suite import Query, Suite

THRESHOLD = 0.5
"""The share of trials from which on a query counts as one that calls the skill."""


class Choices(msgspec.Struct, frozen=True, kw_only=True):
    """What was called in trials with the skill, or in those without it."""

    any_skill: Rate
    """Trials that call a skill, whichever it is."""
    others: Rate
    """Trials that call another skill than the one that is evaluated."""
    none: Rate
    """Trials that call no skill at all."""
    skills: dict[str, Rate]
    """Trials that call each skill, by its name, the most called first."""
    tokens: Spread | None


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """What is called with the skill and without it, and how far that lies apart."""

    with_skill: Choices
    without_skill: Choices | None
    """Nothing where nothing was tried without it."""
    any_skill: Difference | None
    """How much more often a skill is called when the evaluated one is there."""
    others: Difference | None
    """How much more often others are called when it is there; below zero it takes their place."""


class QueryReport(msgspec.Struct, frozen=True, kw_only=True):
    """One query."""

    id: str
    query: str
    should_trigger: bool
    triggered: Rate
    passed: bool | None
    chosen: Compared


class TriggerReport(msgspec.Struct, frozen=True, kw_only=True):
    """All queries."""

    correct: Rate
    """Queries that do what they should."""
    recall: Rate
    """Trials that call the skill, of those that should."""
    false_alarms: Rate
    """Trials that call the skill, of those that should not."""
    wanted: Compared
    """What is called where the skill should be."""
    unwanted: Compared
    """What is called where it should not be."""
    queries: tuple[QueryReport, ...]
    errors: int


def triggers_of(suite: Suite, skill_name: str, trials: Sequence[Trial]) -> TriggerReport:
    """The report of all trials of queries."""
    counted = [one for one in trials if one.counts]
    wanted = {query.id for query in suite.queries if query.should_trigger}
    should = [one for one in counted if one.id in wanted]
    should_not = [one for one in counted if one.id not in wanted]
    queries = [_query(query, skill_name, [one for one in counted if one.id == query.id]) for query in suite.queries]
    decided = [one.passed for one in queries if one.passed is not None]
    return TriggerReport(
        correct=rate_of(decided.count(True), len(decided)),
        recall=_called(should),
        false_alarms=_called(should_not),
        wanted=_compared(skill_name, should),
        unwanted=_compared(skill_name, should_not),
        queries=tuple(queries),
        errors=len(trials) - len(counted),
    )


def _query(query: Query, skill_name: str, trials: Sequence[Trial]) -> QueryReport:
    rate = _called(trials)
    return QueryReport(
        id=query.id,
        query=query.query,
        should_trigger=query.should_trigger,
        triggered=rate,
        passed=None if rate.rate is None else (rate.rate >= THRESHOLD) is query.should_trigger,
        chosen=_compared(skill_name, trials),
    )


def _called(trials: Sequence[Trial]) -> Rate:
    """How often the skill was called where it could be."""
    possible = [one for one in trials if one.variant == "with_skill"]
    return rate_of(sum(bool(one.triggered) for one in possible), len(possible))


def _compared(skill_name: str, trials: Sequence[Trial]) -> Compared:
    there = _choices(skill_name, [one for one in trials if one.variant == "with_skill"])
    without = [one for one in trials if one.variant == "without_skill"]
    gone = _choices(skill_name, without) if without else None
    return Compared(
        with_skill=there,
        without_skill=gone,
        any_skill=difference_of(there.any_skill, gone.any_skill) if gone else None,
        others=difference_of(there.others, gone.others) if gone else None,
    )


def _choices(skill_name: str, trials: Sequence[Trial]) -> Choices:
    count = len(trials)
    named = Counter(name for one in trials for name in one.chosen)
    some = sum(bool(one.chosen) for one in trials)
    return Choices(
        any_skill=rate_of(some, count),
        others=rate_of(sum(any(name != skill_name for name in one.chosen) for one in trials), count),
        none=rate_of(count - some, count),
        skills={name: rate_of(named[name], count) for name in sorted(named, key=lambda name: (-named[name], name))},
        tokens=spread_of([one.ended.tokens for one in trials]),
    )
