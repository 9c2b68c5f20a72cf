"""skills eval: what a skill changes, and when it is used."""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skills_runtime.cli.options import ConfigOptions, Json
from skills_runtime.cli.program import Command, Program

if TYPE_CHECKING:
    from skills_runtime.engine.skill_evals import Evaluation, Trial
    from skills_runtime.ports import Backend


@dataclass(frozen=True, kw_only=True)
class SkillsEvalOptions(ConfigOptions):
    """What `skills eval` takes."""

    path: Annotated[
        str,
        typer.Argument(
            metavar="SKILL_DIR|FILE",
            help="A skill with `evals/`, or one file of evals. Exit code: 0 every trial counts, 1 not, 130 stopped.",
        ),
    ]
    runs: Annotated[int, typer.Option("--runs", min=1, max=1000, help="Trials of each case and of each query.")] = 1
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="DIR", help="Where trials are kept; by default SKILL-workspace/iteration-N."),
    ] = None
    skill: Annotated[
        str | None, typer.Option("--skill", metavar="DIR", help="The skill, where FILE does not lie in it.")
    ] = None
    among: Annotated[
        list[str],
        typer.Option("--among", metavar="DIR", help="Other skills that queries are tried among; repeatable."),
    ] = field(default_factory=list[str])
    parallel: Annotated[int, typer.Option("--parallel", min=1, max=64, help="Trials at the same time.")] = 4
    no_judge: Annotated[
        bool, typer.Option("--no-judge", help="Leave sentences undecided instead of asking the model.")
    ] = False
    no_baseline: Annotated[bool, typer.Option("--no-baseline", help="No trials without the skill.")] = False
    json: Json = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only the report.")] = False


def skills_eval(options: SkillsEvalOptions, program: Program) -> int:
    """Try a skill on its evals, with it and without it; called again, it goes on."""
    import asyncio

    from skills_runtime.agent.run_defaults import backend_for
    from skills_runtime.cli.interrupts import exit_code_of
    from skills_runtime.cli.machine import checked_path, shown_path
    from skills_runtime.cli.planning import model_name
    from skills_runtime.cli.render.skill_evals import show_report, write_report
    from skills_runtime.cli.settings import resolve_settings
    from skills_runtime.engine.skill_evals import Bench, Evaluation, Plan, place_for, report_of, suite_at
    from skills_runtime.engine.skill_evals.places import keep_report

    given = checked_path(options.skill, option="--skill") if options.skill is not None else None
    among = [checked_path(one, option="--among") for one in options.among]
    suite = suite_at(checked_path(options.path, option="SKILL_DIR|FILE"), skill=given, among=among)
    resolved = resolve_settings(options, program=program.name)
    backend, model = backend_for(resolved), model_name(resolved)
    out = checked_path(options.out, option="--out") if options.out is not None else None
    place = place_for(suite, out, Path.cwd(), model)
    bench = Bench(resolved, backend, place.skill, place.others)
    plan = Plan(
        runs=options.runs, parallel=options.parallel, judge=not options.no_judge, baseline=not options.no_baseline
    )
    evaluation = Evaluation(suite, place, bench, plan)
    trials, signal = asyncio.run(_run(evaluation, backend, quiet=options.quiet))
    if trials is None:
        print(f"stopped; the same command goes on in {shown_path(place.root)}", file=sys.stderr)
        return exit_code_of(signal)
    report = report_of(suite, trials, skill_name=evaluation.skill.name, model=model, runs=options.runs)
    keep_report(place, report)
    (write_report if options.json else show_report)(report, sys.stdout)
    if not options.json:
        print(f"everything is in {shown_path(place.root)}")
    return 1 if report.errors else 0


async def _run(evaluation: "Evaluation", backend: "Backend", *, quiet: bool) -> "tuple[list[Trial] | None, int]":
    """Every trial, or nothing and the number of the signal that came before the end."""
    import asyncio

    from skills_runtime.cli.interrupts import interrupts
    from skills_runtime.cli.render.skill_evals import progress
    from skills_runtime.engine.skill_evals.trials import close_backend

    def done(trial: "Trial", number: int, of: int) -> None:
        if not quiet:
            print(progress(trial, number, of), file=sys.stderr, flush=True)

    with interrupts(lambda: None) as interruption:
        work = asyncio.create_task(evaluation.run(done))
        stop = asyncio.create_task(interruption.wait())
        try:
            await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result(), 0
            work.cancel()
            await asyncio.wait([work])
            return None, interruption.number or 2
        finally:
            stop.cancel()
            await close_backend(backend)


COMMAND = Command(
    options=SkillsEvalOptions,
    work=skills_eval,
    examples=("skills eval ./my-skill --runs 5 --among ./skills", "skills eval evals.json --skill ./my-skill --json"),
)
