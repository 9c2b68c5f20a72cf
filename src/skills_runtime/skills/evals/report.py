"""What an evaluation says of a skill: rates with intervals, and what the skill costs and changes.

Pure.
"""

import math
from collections import Counter
from collections.abc import Sequence

import msgspec

from skills_runtime.skills.evals.evaluation import Trial
from skills_runtime.skills.evals.suite import Query, Suite
from skills_runtime.skills.evals.trials import Variant
from skills_runtime.skills.evals.workspace import SCHEMA

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


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """All trials with the skill, or all without it."""

    passed: Rate
    """Trials in which every assertion held."""
    pass_rate: Spread | None
    """The share of assertions that held, over trials."""
    time_seconds: Spread | None
    tokens: Spread | None
    cost_usd: float
    errors: int
    """Trials that do not count."""
    undecided: int
    """Trials with an assertion that nobody could decide."""


class Delta(msgspec.Struct, frozen=True, kw_only=True):
    """What the skill changes."""

    passed: Difference | None
    pass_rate: float | None
    time_seconds: float | None
    tokens: float | None


class CaseReport(msgspec.Struct, frozen=True, kw_only=True):
    """One case."""

    id: str
    with_skill: Rate
    without_skill: Rate
    assertions: dict[str, dict[str, Rate]]
    """Of each assertion the rate with and without the skill."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Everything, as it is written to `benchmark.json`."""

    schema: str = SCHEMA
    skill_name: str
    model: str
    runs: int
    run_summary: "dict[str, Summary | Delta]"
    evals: tuple[CaseReport, ...]
    triggers: TriggerReport | None
    cost_usd: float
    """Everything together, judges too."""
    errors: tuple[str, ...]


def report_of(suite: Suite, trials: Sequence[Trial], *, skill_name: str, model: str, runs: int) -> Report:
    """The report of all trials."""
    cases = [one for one in trials if one.kind == "case"]
    summaries = {
        variant: _summary(chosen)
        for variant in ("with_skill", "without_skill")
        if (chosen := [one for one in cases if one.variant == variant])
    }
    summary: dict[str, Summary | Delta] = {**summaries}
    if len(summaries) > 1:
        summary["delta"] = _delta(summaries["with_skill"], summaries["without_skill"])
    return Report(
        skill_name=skill_name,
        model=model,
        runs=runs,
        run_summary=summary,
        evals=tuple(_case(case.id, [one for one in cases if one.id == case.id]) for case in suite.cases),
        triggers=triggers_of(suite, skill_name, [one for one in trials if one.kind == "query"])
        if suite.queries
        else None,
        cost_usd=round(sum(_cost(one) for one in trials), 6),
        errors=tuple(dict.fromkeys(one.ended.error for one in trials if one.ended.error)),
    )


def _summary(trials: Sequence[Trial]) -> Summary:
    counted = [one for one in trials if one.counts]
    return Summary(
        passed=_passed(counted),
        pass_rate=spread_of([share for one in counted if (share := _share(one)) is not None]),
        time_seconds=spread_of([one.ended.seconds for one in counted]),
        tokens=spread_of([one.ended.tokens for one in counted]),
        cost_usd=round(sum(one.ended.cost_usd for one in trials), 6),
        errors=len(trials) - len(counted),
        undecided=sum(one.passed is None for one in counted),
    )


def _delta(one: Summary, other: Summary) -> Delta:
    return Delta(
        passed=difference_of(one.passed, other.passed),
        pass_rate=_apart(one.pass_rate, other.pass_rate),
        time_seconds=_apart(one.time_seconds, other.time_seconds),
        tokens=_apart(one.tokens, other.tokens),
    )


def _apart(one: Spread | None, other: Spread | None) -> float | None:
    return one.mean - other.mean if one is not None and other is not None else None


def _passed(trials: Sequence[Trial]) -> Rate:
    decided = [one.passed for one in trials if one.counts and one.passed is not None]
    return rate_of(decided.count(True), len(decided))


def _share(trial: Trial) -> float | None:
    held = [one.passed for one in trial.graded if one.passed is not None]
    return held.count(True) / len(held) if held else None


def _case(name: str, trials: Sequence[Trial]) -> CaseReport:
    chosen: dict[Variant, list[Trial]] = {
        "with_skill": [one for one in trials if one.variant == "with_skill"],
        "without_skill": [one for one in trials if one.variant == "without_skill"],
    }
    texts = dict.fromkeys(graded.text for one in trials for graded in one.graded)
    return CaseReport(
        id=name,
        with_skill=_passed(chosen["with_skill"]),
        without_skill=_passed(chosen["without_skill"]),
        assertions={text: {variant: _held(text, some) for variant, some in chosen.items()} for text in texts},
    )


def _held(text: str, trials: Sequence[Trial]) -> Rate:
    found = [graded.passed for one in trials if one.counts for graded in one.graded if graded.text == text]
    decided = [passed for passed in found if passed is not None]
    return rate_of(decided.count(True), len(decided))


def _cost(trial: Trial) -> float:
    return trial.ended.cost_usd + (trial.judge.cost_usd if trial.judge is not None else 0.0)
