"""Build the report of an evaluation: pass and trigger rates with confidence intervals, time, tokens and cost.

Does no I/O.
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
"""Standard normal quantile of a 95 % interval."""


class Rate(msgspec.Struct, frozen=True):
    """A proportion with its 95 % confidence interval."""

    hits: int
    trials: int
    rate: float | None
    low: float | None
    high: float | None


class Difference(msgspec.Struct, frozen=True):
    """The difference of two rates with its 95 % confidence interval."""

    value: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """Whether the interval excludes zero."""
        return self.low > 0 or self.high < 0


class Spread(msgspec.Struct, frozen=True):
    """Mean and standard deviation."""

    mean: float
    stddev: float


def compute_rate(hits: int, trials: int) -> Rate:
    """Compute a rate with its Wilson score interval; without trials the rate is None."""
    if trials == 0:
        return Rate(0, 0, None, None, None)
    share, square = hits / trials, Z * Z
    center = (share + square / (2 * trials)) / (1 + square / trials)
    half_width = Z / (1 + square / trials) * math.sqrt(share * (1 - share) / trials + square / (4 * trials * trials))
    low = 0.0 if hits == 0 else max(0.0, center - half_width)
    high = 1.0 if hits == trials else min(1.0, center + half_width)
    return Rate(hits, trials, share, low, high)


def compute_difference(first: Rate, second: Rate) -> Difference | None:
    """Subtract the second rate from the first; return None if either is unknown."""
    if first.rate is None or first.low is None or first.high is None:
        return None
    if second.rate is None or second.low is None or second.high is None:
        return None
    # Newcombe's hybrid score interval, built from the two Wilson intervals.
    value = first.rate - second.rate
    margin_below = math.hypot(first.rate - first.low, second.high - second.rate)
    margin_above = math.hypot(first.high - first.rate, second.rate - second.low)
    return Difference(value, max(-1.0, value - margin_below), min(1.0, value + margin_above))


def compute_spread(numbers: Sequence[float]) -> Spread | None:
    """Compute mean and sample standard deviation; return None for an empty sample."""
    if not numbers:
        return None
    mean = math.fsum(numbers) / len(numbers)
    squares = math.fsum((number - mean) ** 2 for number in numbers)
    return Spread(mean, math.sqrt(squares / (len(numbers) - 1)) if len(numbers) > 1 else 0.0)


THRESHOLD = 0.5
"""A query counts as triggering if at least this share of its trials calls the skill."""


class SkillChoices(msgspec.Struct, frozen=True, kw_only=True):
    """How often skills were called in the trials of one variant."""

    any_skill: Rate
    """Trials that call at least one skill."""
    others: Rate
    """Trials that call a skill other than the evaluated one."""
    none: Rate
    """Trials that call no skill at all."""
    skills: dict[str, Rate]
    """Rate by skill name, most called first."""
    tokens: Spread | None


class ChoiceComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Skill calls with and without the evaluated skill, and their difference."""

    with_skill: SkillChoices
    without_skill: SkillChoices | None
    """None if there were no trials without the skill."""
    any_skill: Difference | None
    """Change in the rate of trials that call any skill."""
    others: Difference | None
    """Change in the rate of trials that call another skill; negative if the evaluated skill displaces them."""


class QueryReport(msgspec.Struct, frozen=True, kw_only=True):
    """Results of one query."""

    id: str
    query: str
    should_trigger: bool
    triggered: Rate
    passed: bool | None
    chosen: ChoiceComparison


class TriggerReport(msgspec.Struct, frozen=True, kw_only=True):
    """Results of all queries."""

    correct: Rate
    """Queries whose outcome is the expected one."""
    recall: Rate
    """Trials that call the skill, of those that should."""
    false_alarms: Rate
    """Trials that call the skill, of those that should not."""
    should_trigger: ChoiceComparison = msgspec.field(name="wanted")
    """Skill calls of the queries that should call the skill."""
    should_not_trigger: ChoiceComparison = msgspec.field(name="unwanted")
    """Skill calls of the queries that should not."""
    queries: tuple[QueryReport, ...]
    errors: int


def build_trigger_report(suite: Suite, skill_name: str, trials: Sequence[Trial]) -> TriggerReport:
    """Summarize the trials of all queries."""
    counted = [trial for trial in trials if trial.counts]
    triggering_ids = {query.id for query in suite.queries if query.should_trigger}
    should = [trial for trial in counted if trial.id in triggering_ids]
    should_not = [trial for trial in counted if trial.id not in triggering_ids]
    queries: list[QueryReport] = []
    for query in suite.queries:
        query_trials = [trial for trial in counted if trial.id == query.id]
        rate = _trigger_rate(query_trials)
        queries.append(
            QueryReport(
                id=query.id,
                query=query.query,
                should_trigger=query.should_trigger,
                triggered=rate,
                passed=None if rate.rate is None else (rate.rate >= THRESHOLD) is query.should_trigger,
                chosen=_compare_choices(skill_name, query_trials),
            )
        )
    verdicts = [query_report.passed for query_report in queries if query_report.passed is not None]
    return TriggerReport(
        correct=compute_rate(verdicts.count(True), len(verdicts)),
        recall=_trigger_rate(should),
        false_alarms=_trigger_rate(should_not),
        should_trigger=_compare_choices(skill_name, should),
        should_not_trigger=_compare_choices(skill_name, should_not),
        queries=tuple(queries),
        errors=len(trials) - len(counted),
    )


def _trigger_rate(trials: Sequence[Trial]) -> Rate:
    """Compute how often trials with the skill called it."""
    with_skill = [trial for trial in trials if trial.variant == "with_skill"]
    return compute_rate(sum(bool(trial.triggered) for trial in with_skill), len(with_skill))


def _compare_choices(skill_name: str, trials: Sequence[Trial]) -> ChoiceComparison:
    with_skill = _count_choices(skill_name, [trial for trial in trials if trial.variant == "with_skill"])
    baseline_trials = [trial for trial in trials if trial.variant == "without_skill"]
    without_skill = _count_choices(skill_name, baseline_trials) if baseline_trials else None
    return ChoiceComparison(
        with_skill=with_skill,
        without_skill=without_skill,
        any_skill=compute_difference(with_skill.any_skill, without_skill.any_skill) if without_skill else None,
        others=compute_difference(with_skill.others, without_skill.others) if without_skill else None,
    )


def _count_choices(skill_name: str, trials: Sequence[Trial]) -> SkillChoices:
    count = len(trials)
    calls_by_name = Counter(name for trial in trials for name in trial.chosen)
    with_any = sum(bool(trial.chosen) for trial in trials)
    return SkillChoices(
        any_skill=compute_rate(with_any, count),
        others=compute_rate(sum(any(name != skill_name for name in trial.chosen) for trial in trials), count),
        none=compute_rate(count - with_any, count),
        skills={
            name: compute_rate(calls_by_name[name], count)
            for name in sorted(calls_by_name, key=lambda name: (-calls_by_name[name], name))
        },
        tokens=compute_spread([trial.result.tokens for trial in trials]),
    )


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """Summary of all case trials of one variant."""

    passed: Rate
    """Trials in which every assertion passed."""
    pass_rate: Spread | None
    """Share of passed assertions per trial."""
    time_seconds: Spread | None
    tokens: Spread | None
    cost_usd: float | None
    errors: int
    """Trials whose run failed."""
    undecided: int
    """Trials with an undecided assertion."""


class EvalDelta(msgspec.Struct, frozen=True, kw_only=True):
    """Difference between trials with and without the skill."""

    passed: Difference | None
    pass_rate: float | None
    time_seconds: float | None
    tokens: float | None


class CaseReport(msgspec.Struct, frozen=True, kw_only=True):
    """Results of one case."""

    id: str
    with_skill: Rate
    without_skill: Rate
    assertions: dict[str, dict[str, Rate]]
    """Pass rate by assertion text and variant."""


class EvalReport(msgspec.Struct, frozen=True, kw_only=True):
    """The whole report, as written to `benchmark.json`."""

    schema: str = EVAL_SCHEMA
    skill_name: str
    model: str
    runs: int
    run_summary: "dict[str, Summary | EvalDelta]"
    evals: tuple[CaseReport, ...]
    triggers: TriggerReport | None
    cost_usd: float | None
    """Total cost, including the judge's runs."""
    errors: tuple[str, ...]


def build_report(suite: Suite, trials: Sequence[Trial], *, skill_name: str, model: str, runs: int) -> EvalReport:
    """Summarize all trials of an evaluation."""
    cases = [trial for trial in trials if trial.kind == "case"]
    summaries = {
        variant: _summarize(variant_trials)
        for variant in ("with_skill", "without_skill")
        if (variant_trials := [trial for trial in cases if trial.variant == variant])
    }
    summary: dict[str, Summary | EvalDelta] = {**summaries}
    if len(summaries) > 1:
        with_skill, without_skill = summaries["with_skill"], summaries["without_skill"]
        summary["delta"] = EvalDelta(
            passed=compute_difference(with_skill.passed, without_skill.passed),
            pass_rate=_subtract_means(with_skill.pass_rate, without_skill.pass_rate),
            time_seconds=_subtract_means(with_skill.time_seconds, without_skill.time_seconds),
            tokens=_subtract_means(with_skill.tokens, without_skill.tokens),
        )
    return EvalReport(
        skill_name=skill_name,
        model=model,
        runs=runs,
        run_summary=summary,
        evals=tuple(
            _build_case_report(case.id, [trial for trial in cases if trial.id == case.id]) for case in suite.cases
        ),
        triggers=build_trigger_report(suite, skill_name, [trial for trial in trials if trial.kind == "query"])
        if suite.queries
        else None,
        cost_usd=_add_costs(
            [run.cost_usd for trial in trials for run in (trial.result, trial.judge) if run is not None]
        ),
        errors=tuple(dict.fromkeys(trial.result.error for trial in trials if trial.result.error)),
    )


def _summarize(trials: Sequence[Trial]) -> Summary:
    counted = [trial for trial in trials if trial.counts]
    verdicts_by_trial = [[graded.passed for graded in trial.graded if graded.passed is not None] for trial in counted]
    shares = [verdicts.count(True) / len(verdicts) for verdicts in verdicts_by_trial if verdicts]
    return Summary(
        passed=_pass_rate(counted),
        pass_rate=compute_spread(shares),
        time_seconds=compute_spread([trial.result.seconds for trial in counted]),
        tokens=compute_spread([trial.result.tokens for trial in counted]),
        cost_usd=_add_costs([trial.result.cost_usd for trial in trials]),
        errors=len(trials) - len(counted),
        undecided=sum(trial.passed is None for trial in counted),
    )


def _add_costs(costs: Sequence[float | None]) -> float | None:
    """Return the sum; it is unknown if one cost is."""
    paid = [cost for cost in costs if cost is not None]
    return round(sum(paid), 6) if len(paid) == len(costs) else None


def _subtract_means(first: Spread | None, second: Spread | None) -> float | None:
    return first.mean - second.mean if first is not None and second is not None else None


def _pass_rate(trials: Sequence[Trial]) -> Rate:
    verdicts = [trial.passed for trial in trials if trial.counts and trial.passed is not None]
    return compute_rate(verdicts.count(True), len(verdicts))


def _build_case_report(name: str, trials: Sequence[Trial]) -> CaseReport:
    trials_by_variant: dict[Variant, list[Trial]] = {
        "with_skill": [trial for trial in trials if trial.variant == "with_skill"],
        "without_skill": [trial for trial in trials if trial.variant == "without_skill"],
    }
    assertions: dict[str, dict[str, Rate]] = {}
    for text in dict.fromkeys(graded.text for trial in trials for graded in trial.graded):
        for variant, variant_trials in trials_by_variant.items():
            outcomes = [
                graded.passed
                for trial in variant_trials
                if trial.counts
                for graded in trial.graded
                if graded.text == text
            ]
            verdicts = [passed for passed in outcomes if passed is not None]
            assertions.setdefault(text, {})[variant] = compute_rate(verdicts.count(True), len(verdicts))
    return CaseReport(
        id=name,
        with_skill=_pass_rate(trials_by_variant["with_skill"]),
        without_skill=_pass_rate(trials_by_variant["without_skill"]),
        assertions=assertions,
    )
