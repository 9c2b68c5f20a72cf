"""What an evaluation says of a skill: rates with intervals, and what the skill costs and changes.

Pure.
"""

import math
from collections import Counter
from collections.abc import Sequence

import msgspec

from skills_runtime.skills.evals.evaluation import Trial
from skills_runtime.skills.evals.suite import Suite
from skills_runtime.skills.evals.trials import Variant
from skills_runtime.skills.evals.workspace import EVAL_SCHEMA

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


class SkillChoices(msgspec.Struct, frozen=True, kw_only=True):
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


class ChoiceComparison(msgspec.Struct, frozen=True, kw_only=True):
    """What is called with the skill and without it, and how far that lies apart."""

    with_skill: SkillChoices
    without_skill: SkillChoices | None
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
    chosen: ChoiceComparison


class TriggerReport(msgspec.Struct, frozen=True, kw_only=True):
    """All queries."""

    correct: Rate
    """Queries that do what they should."""
    recall: Rate
    """Trials that call the skill, of those that should."""
    false_alarms: Rate
    """Trials that call the skill, of those that should not."""
    wanted: ChoiceComparison
    """What is called where the skill should be."""
    unwanted: ChoiceComparison
    """What is called where it should not be."""
    queries: tuple[QueryReport, ...]
    errors: int


def build_trigger_report(suite: Suite, skill_name: str, trials: Sequence[Trial]) -> TriggerReport:
    """Sum up all trials of queries."""
    counted = [one for one in trials if one.counts]
    wanted = {query.id for query in suite.queries if query.should_trigger}
    should = [one for one in counted if one.id in wanted]
    should_not = [one for one in counted if one.id not in wanted]
    queries: list[QueryReport] = []
    for query in suite.queries:
        own = [one for one in counted if one.id == query.id]
        rate = _called(own)
        queries.append(
            QueryReport(
                id=query.id,
                query=query.query,
                should_trigger=query.should_trigger,
                triggered=rate,
                passed=None if rate.rate is None else (rate.rate >= THRESHOLD) is query.should_trigger,
                chosen=_compared(skill_name, own),
            )
        )
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


def _called(trials: Sequence[Trial]) -> Rate:
    """How often the skill was called where it could be."""
    possible = [one for one in trials if one.variant == "with_skill"]
    return rate_of(sum(bool(one.triggered) for one in possible), len(possible))


def _compared(skill_name: str, trials: Sequence[Trial]) -> ChoiceComparison:
    there = _choices(skill_name, [one for one in trials if one.variant == "with_skill"])
    without = [one for one in trials if one.variant == "without_skill"]
    gone = _choices(skill_name, without) if without else None
    return ChoiceComparison(
        with_skill=there,
        without_skill=gone,
        any_skill=difference_of(there.any_skill, gone.any_skill) if gone else None,
        others=difference_of(there.others, gone.others) if gone else None,
    )


def _choices(skill_name: str, trials: Sequence[Trial]) -> SkillChoices:
    count = len(trials)
    named = Counter(name for one in trials for name in one.chosen)
    some = sum(bool(one.chosen) for one in trials)
    return SkillChoices(
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


class EvalDelta(msgspec.Struct, frozen=True, kw_only=True):
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


class EvalReport(msgspec.Struct, frozen=True, kw_only=True):
    """Everything, as it is written to `benchmark.json`."""

    schema: str = EVAL_SCHEMA
    skill_name: str
    model: str
    runs: int
    run_summary: "dict[str, Summary | EvalDelta]"
    evals: tuple[CaseReport, ...]
    triggers: TriggerReport | None
    cost_usd: float
    """Everything together, judges too."""
    errors: tuple[str, ...]


def build_report(suite: Suite, trials: Sequence[Trial], *, skill_name: str, model: str, runs: int) -> EvalReport:
    """Sum up all trials."""
    cases = [one for one in trials if one.kind == "case"]
    summaries = {
        variant: _summary(chosen)
        for variant in ("with_skill", "without_skill")
        if (chosen := [one for one in cases if one.variant == variant])
    }
    summary: dict[str, Summary | EvalDelta] = {**summaries}
    if len(summaries) > 1:
        one, other = summaries["with_skill"], summaries["without_skill"]
        summary["delta"] = EvalDelta(
            passed=difference_of(one.passed, other.passed),
            pass_rate=_mean_difference(one.pass_rate, other.pass_rate),
            time_seconds=_mean_difference(one.time_seconds, other.time_seconds),
            tokens=_mean_difference(one.tokens, other.tokens),
        )
    return EvalReport(
        skill_name=skill_name,
        model=model,
        runs=runs,
        run_summary=summary,
        evals=tuple(_case_report(case.id, [one for one in cases if one.id == case.id]) for case in suite.cases),
        triggers=build_trigger_report(suite, skill_name, [one for one in trials if one.kind == "query"])
        if suite.queries
        else None,
        cost_usd=round(sum(one.ended.cost_usd + (one.judge.cost_usd if one.judge else 0.0) for one in trials), 6),
        errors=tuple(dict.fromkeys(one.ended.error for one in trials if one.ended.error)),
    )


def _summary(trials: Sequence[Trial]) -> Summary:
    counted = [one for one in trials if one.counts]
    decided = [[graded.passed for graded in one.graded if graded.passed is not None] for one in counted]
    shares = [held.count(True) / len(held) for held in decided if held]
    return Summary(
        passed=_passed(counted),
        pass_rate=spread_of(shares),
        time_seconds=spread_of([one.ended.seconds for one in counted]),
        tokens=spread_of([one.ended.tokens for one in counted]),
        cost_usd=round(sum(one.ended.cost_usd for one in trials), 6),
        errors=len(trials) - len(counted),
        undecided=sum(one.passed is None for one in counted),
    )


def _mean_difference(one: Spread | None, other: Spread | None) -> float | None:
    return one.mean - other.mean if one is not None and other is not None else None


def _passed(trials: Sequence[Trial]) -> Rate:
    decided = [one.passed for one in trials if one.counts and one.passed is not None]
    return rate_of(decided.count(True), len(decided))


def _case_report(name: str, trials: Sequence[Trial]) -> CaseReport:
    chosen: dict[Variant, list[Trial]] = {
        "with_skill": [one for one in trials if one.variant == "with_skill"],
        "without_skill": [one for one in trials if one.variant == "without_skill"],
    }
    assertions: dict[str, dict[str, Rate]] = {}
    for text in dict.fromkeys(graded.text for one in trials for graded in one.graded):
        for variant, some in chosen.items():
            found = [graded.passed for one in some if one.counts for graded in one.graded if graded.text == text]
            decided = [passed for passed in found if passed is not None]
            assertions.setdefault(text, {})[variant] = rate_of(decided.count(True), len(decided))
    return CaseReport(
        id=name,
        with_skill=_passed(chosen["with_skill"]),
        without_skill=_passed(chosen["without_skill"]),
        assertions=assertions,
    )
