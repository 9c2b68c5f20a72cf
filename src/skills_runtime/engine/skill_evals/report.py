"""What an evaluation says of a skill: rates with intervals, and what the skill costs and changes.

Pure.
"""

from collections.abc import Sequence

import msgspec

from skills_runtime.engine.skill_evals.evaluation import Trial
from skills_runtime.engine.skill_evals.places import SCHEMA
from skills_runtime.engine.skill_evals.statistics import (
    Difference,
    Rate,
    Spread,
    difference_of,
    rate_of,
    spread_of,
)
from skills_runtime.engine.skill_evals.suite import Suite
from skills_runtime.engine.skill_evals.trials import Variant
from skills_runtime.engine.skill_evals.trigger_report import TriggerReport, triggers_of


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
