"""How evaluations of skills are written: as lines for people, as JSON for programs."""

from typing import TextIO

import msgspec

from skills_runtime.cli.text import money, plural
from skills_runtime.skills.evals import EvalReport, Trial
from skills_runtime.skills.evals.report import (
    ChoiceComparison,
    Difference,
    EvalDelta,
    QueryReport,
    Rate,
    SkillChoices,
    Spread,
    Summary,
    TriggerReport,
)
from skills_runtime.text import readable_line


def progress(trial: Trial, number: int, of: int) -> str:
    """One line for a trial that is done."""
    name = f"{readable_line(trial.id)} {trial.variant.replace('_', ' ')} run {trial.number}"
    return f"[{number}/{of}] {name}: {_outcome(trial)} ({trial.ended.seconds:.1f} s, {trial.ended.tokens} tokens)"


def write_report(report: EvalReport, out: TextIO) -> None:
    """Write the report for programs."""
    out.write(msgspec.json.format(msgspec.json.encode(report)).decode() + "\n")


def show_report(report: EvalReport, out: TextIO) -> None:
    """Write the report for a person."""
    out.write(
        f"{readable_line(report.skill_name)} with {readable_line(report.model)}, {plural(report.runs, 'run')} each\n"
    )
    for name, part in report.run_summary.items():
        _show_delta(part, out) if isinstance(part, EvalDelta) else _show_summary(name, part, out)
    for case in report.evals:
        out.write(f"\n{readable_line(case.id)}: {_rate(case.with_skill)} with, {_rate(case.without_skill)} without\n")
        for text, rates in case.assertions.items():
            both = " / ".join(_share(rates[name]) for name in ("with_skill", "without_skill"))
            out.write(f"  {both:>12}  {readable_line(text)}\n")
    if report.triggers is not None:
        _show_triggers(report.triggers, out)
    if report.cost_usd:
        out.write(f"\ncost of everything: {money(report.cost_usd)}\n")
    for error in report.errors:
        out.write(f"does not count: {readable_line(error)}\n")


def _outcome(trial: Trial) -> str:
    if trial.ended.error:
        return f"does not count: {readable_line(trial.ended.error)}"
    if trial.triggered is not None:
        if trial.triggered:
            return "called the skill"
        others = f"called {', '.join(map(readable_line, trial.chosen))}" if trial.chosen else ""
        if trial.variant == "without_skill":
            return others or "called no skill"
        return f"did not call the skill but {others}" if others else "did not call the skill"
    held = [one.passed for one in trial.graded]
    undecided = f", {held.count(None)} undecided" if None in held else ""
    return f"{held.count(True)} of {len(held)} assertions held{undecided}"


def _show_summary(name: str, part: Summary, out: TextIO) -> None:
    out.write(f"{name.replace('_', ' ')}: {_rate(part.passed)} of trials pass\n")
    out.write(f"  assertions {_percent(part.pass_rate)}, time {_number(part.time_seconds)} s, ")
    out.write(f"tokens {_number(part.tokens)}, cost {money(part.cost_usd)}\n")
    if part.errors or part.undecided:
        out.write(f"  {plural(part.errors, 'trial')} not counted, {part.undecided} undecided\n")


def _show_delta(part: EvalDelta, out: TextIO) -> None:
    out.write(f"difference: {_difference(part.passed)}")
    if part.time_seconds is not None and part.tokens is not None:
        out.write(f"; {part.time_seconds:+.1f} s, {part.tokens:+.0f} tokens a trial")
    out.write("\n")


def _show_triggers(triggers: TriggerReport, out: TextIO) -> None:
    out.write(f"\nqueries that do what they should: {_rate(triggers.correct)}\n")
    out.write(f"  called where it should be: {_rate(triggers.recall)}\n")
    _show_compared(triggers.wanted, out)
    out.write(f"  called where it should not be: {_rate(triggers.false_alarms)}\n")
    _show_compared(triggers.unwanted, out)
    for query in triggers.queries:
        _show_query(query, out)


def _show_compared(compared: ChoiceComparison, out: TextIO) -> None:
    """What else is called there; little is to be said where nothing was tried without the skill."""
    there, gone = compared.with_skill, compared.without_skill
    if gone is None:
        if there.others.hits:
            out.write(f"    another skill: {_rate(there.others)}\n")
        return
    out.write(f"    another skill: {_rate(there.others)} with it, {_rate(gone.others)} without it\n")
    out.write(f"    difference for other skills: {_difference(compared.others)}\n")
    out.write(f"    difference for any skill: {_difference(compared.any_skill)}\n")


def _show_query(query: QueryReport, out: TextIO) -> None:
    mark = {True: "right", False: "WRONG", None: "?"}[query.passed]
    should = "should" if query.should_trigger else "should not"
    out.write(f"  {mark:5} {_share(query.triggered):>6}  {should:10} {readable_line(query.query)[:100]}\n")
    if query.chosen.with_skill.others.hits:
        out.write(f"{'':15} with it: {_names(query.chosen.with_skill)}\n")
    if query.chosen.without_skill is not None:
        out.write(f"{'':15} without it: {_names(query.chosen.without_skill)}\n")


def _names(choices: SkillChoices) -> str:
    called = [f"{readable_line(name)} {_share(rate)}" for name, rate in choices.skills.items()]
    return ", ".join([*called, f"no skill {_share(choices.none)}"] if choices.none.hits or not called else called)


def _rate(rate: Rate) -> str:
    if rate.rate is None or rate.low is None or rate.high is None:
        return "unknown"
    return f"{rate.rate:.0%} ({rate.hits} of {rate.trials}; 95 % interval {rate.low:.0%} to {rate.high:.0%})"


def _share(rate: Rate) -> str:
    return "-" if rate.rate is None else f"{rate.hits}/{rate.trials}"


def _difference(value: Difference | None) -> str:
    if value is None:
        return "unknown"
    doubt = "" if value.clear else "; too few trials to tell"
    return f"{value.value * 100:+.0f} points (95 % interval {value.low * 100:+.0f} to {value.high * 100:+.0f}{doubt})"


def _percent(spread: Spread | None) -> str:
    return "unknown" if spread is None else f"{spread.mean:.0%} ± {spread.stddev:.0%}"


def _number(spread: Spread | None) -> str:
    return "unknown" if spread is None else f"{spread.mean:.1f} ± {spread.stddev:.1f}"
