"""`skills`: write skills, check them, look at them, choose among them and try them."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skills_runtime.cli.errors import Misuse
from skills_runtime.cli.help import ExampleCommand, create_app
from skills_runtime.cli.options import Assignments, ConfigFiles, ConfigOptions, Json, WorkspaceRoot, repeatable
from skills_runtime.errors import ValidationFailed
from skills_runtime.text import readable_line

if TYPE_CHECKING:
    from skills_runtime.config import Resolved
    from skills_runtime.ports import Backend
    from skills_runtime.skills.evals import Evaluation, Trial

app = create_app(
    "skills",
    "Write skills, check them, and look at them.",
    "skills new release-notes",
    "skills validate .agents/skills",
)


MAX_LIMIT = 100
PLACE = ".skills_runtime_sdk/executions"
"""Where executions are kept, below the workspace."""


@app.command(
    "validate", cls=ExampleCommand, epilog="skills validate ./my-skill\nskills validate .agents/skills --lenient --json"
)
def skills_validate(
    *,
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...", help="Skills, or directories of skills. Exit code: 0 valid, 20 not, 22 not there."
        ),
    ],
    strict: Annotated[
        bool, typer.Option("--strict", help="Hold them to the specification; this is the default.")
    ] = False,
    lenient: Annotated[bool, typer.Option("--lenient", help="Only ask whether they can be used here.")] = False,
    as_json: Json = False,
) -> int:
    """Say what is wrong with skills, line by line."""
    from skills_runtime.cli.inputs import checked_path
    from skills_runtime.cli.skill_report import checked_skills, exit_code, show_findings, write_findings

    if strict and lenient:
        raise Misuse("`--strict` and `--lenient` exclude each other")
    given = [checked_path(path, option="PATH") for path in paths]
    reports = checked_skills(given, "lenient" if lenient else "strict")
    (write_findings if as_json else show_findings)(reports, sys.stdout)
    return exit_code(reports)


@app.command(
    "show", cls=ExampleCommand, epilog="skills show ./my-skill\nskills show '$[web:mvp].article-writer' --json"
)
def skills_show(
    context: typer.Context,
    *,
    skill: Annotated[
        str,
        typer.Argument(
            metavar="PATH|NAME", help="The directory of a skill, its mention, or its name if only one has it."
        ),
    ],
    as_json: Json = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
) -> int:
    """Show what a skill says of itself, what it brings and what is odd about it."""
    from skills_runtime.cli.inputs import checked_text, resolve_settings
    from skills_runtime.cli.skill_report import described, found_by_name, found_by_path, show_skill, write_skill

    given = ConfigOptions(workspace_root, config, assignments)
    text = checked_text(skill, "PATH|NAME")
    found = found_by_path(text) or found_by_name(text, resolve_settings(given, program=context.obj.name))
    (write_skill if as_json else show_skill)(described(found), sys.stdout)
    return 0


@app.command(
    "route",
    cls=ExampleCommand,
    epilog='skills route "turn these notes into slides"\nskills route "fix the build" --limit 3 --json',
)
def skills_route(
    context: typer.Context,
    *,
    task: Annotated[str, typer.Argument(metavar="TASK", help="What somebody wants to have done.")],
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, max=MAX_LIMIT, help="How many skills to name.")
    ] = 5,
    path: Annotated[
        list[str],
        repeatable("--path", metavar="FILE", help="A file the task is about; repeatable."),
    ],
    source: Annotated[
        list[str],
        repeatable("--from", metavar="DIR", help="Choose among the skills below a directory instead; repeatable."),
    ],
    as_json: Json = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
) -> int:
    """Explain which skills a task calls for, and what the model would be told."""
    from skills_runtime.cli.inputs import checked_text, resolve_settings
    from skills_runtime.cli.skill_report import budget_of, explained, library_at, show_routing, write_routing
    from skills_runtime.skills import library_of

    given = ConfigOptions(workspace_root, config, assignments)
    if not checked_text(task, "TASK").strip():
        raise ValidationFailed("there is no task to choose skills for", hint="say what somebody wants to have done")
    resolved = resolve_settings(given, program=context.obj.name)
    library = library_at(source) if source else library_of(resolved)
    paths = [checked_text(one, "--path") for one in path]
    found = explained(task, library, paths=paths, limit=limit, budget_tokens=budget_of(resolved))
    (write_routing if as_json else show_routing)(found, sys.stdout)
    return 0


@app.command(
    "new",
    cls=ExampleCommand,
    epilog=(
        "skills new release-notes\n"
        'skills new release-notes --dir skills --description "Writes release notes. Use before a release."'
    ),
)
def skills_new(
    *,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Small letters, digits and single hyphens.")],
    directory: Annotated[
        str, typer.Option("--dir", metavar="DIR", help="The directory it is put into.")
    ] = ".agents/skills",
    description: Annotated[
        str, typer.Option("--description", metavar="TEXT", help="What it does, and when it is to be used.")
    ] = "",
) -> int:
    """Begin a new skill."""
    from skills_runtime.cli.inputs import checked_path, checked_text
    from skills_runtime.cli.state import shown_path
    from skills_runtime.skills.standard.directories import new_skill

    file = new_skill(
        checked_text(name, "NAME"),
        checked_path(directory, option="--dir"),
        checked_text(description, "--description").strip(),
    )
    print(readable_line(shown_path(file)))
    return 0


@app.command("list", cls=ExampleCommand, epilog="skills list --workspace-root ./project --json\nskills list --watch")
def skills_list(
    context: typer.Context,
    *,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on with what is added, changed, removed or broken, until Ctrl-C.")
    ] = False,
    as_json: Json = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
) -> int:
    """List every skill, and say which are offered and why others are not."""
    from skills_runtime.cli.inputs import resolve_settings
    from skills_runtime.cli.skill_list import listed_skills, show_list, write_list

    given = ConfigOptions(workspace_root, config, assignments)
    resolved = resolve_settings(given, program=context.obj.name)
    if watch:
        return _watch(resolved, as_json=as_json)
    (write_list if as_json else show_list)(listed_skills(resolved), sys.stdout)
    return 0


def _watch(resolved: "Resolved", *, as_json: bool) -> int:
    """The list, for people, and then each change; programs get one line for each change and nothing else."""
    from skills_runtime.cli.skill_list import listed_skills, show_change, show_list, watch, write_change

    def ready() -> None:
        if not as_json:
            show_list(listed_skills(resolved), sys.stdout)
            sys.stdout.flush()
        sys.stderr.write("watching for changes; Ctrl-C ends\n")
        sys.stderr.flush()

    watch(resolved, ready, partial(write_change if as_json else show_change, out=sys.stdout))
    return 0


@app.command("trust", cls=ExampleCommand, epilog="skills trust\nskills trust ./project --remove")
def skills_trust(
    *,
    directory: Annotated[
        str, typer.Argument(metavar="[DIR]", help="A directory of the project; its whole repository is meant.")
    ] = ".",
    remove: Annotated[bool, typer.Option("--remove", help="Do not trust it any more.")] = False,
) -> int:
    """Trust the project in a directory, so that its skills are offered."""
    from skills_runtime.cli.inputs import checked_path
    from skills_runtime.config import state_home
    from skills_runtime.skills.discovery import TrustStore, project_root

    project = project_root(checked_path(directory, option="DIR"))
    store = TrustStore(state_home())
    if remove:
        changed = store.forget(project)
        said = "is not trusted any more" if changed else "was not trusted"
    else:
        changed = store.trust(project)
        said = "is trusted now" if changed else "is trusted already"
    print(f"{readable_line(str(project))} {said}")
    return 0


@app.command(
    "eval",
    cls=ExampleCommand,
    epilog=("skills eval ./my-skill --runs 5 --among ./skills\nskills eval evals.json --skill ./my-skill --json"),
)
def skills_eval(
    context: typer.Context,
    *,
    path: Annotated[
        str,
        typer.Argument(
            metavar="SKILL_DIR|FILE",
            help="A skill with `evals/`, or one file of evals. Exit code: 0 every trial counts, 1 not, 130 stopped.",
        ),
    ],
    runs: Annotated[int, typer.Option("--runs", min=1, max=1000, help="Trials of each case and of each query.")] = 1,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="DIR", help="Where trials are kept; by default SKILL-workspace/iteration-N."),
    ] = None,
    skill: Annotated[
        str | None, typer.Option("--skill", metavar="DIR", help="The skill, where FILE does not lie in it.")
    ] = None,
    among: Annotated[
        list[str],
        repeatable("--among", metavar="DIR", help="Other skills that queries are tried among; repeatable."),
    ],
    parallel: Annotated[int, typer.Option("--parallel", min=1, max=64, help="Trials at the same time.")] = 4,
    no_judge: Annotated[
        bool, typer.Option("--no-judge", help="Leave sentences undecided instead of asking the model.")
    ] = False,
    no_baseline: Annotated[bool, typer.Option("--no-baseline", help="No trials without the skill.")] = False,
    as_json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only the report.")] = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
) -> int:
    """Try a skill on its evals, with it and without it; called again, it goes on."""
    import asyncio

    from skills_runtime.agent.run_defaults import backend_for
    from skills_runtime.cli.execution import model_name
    from skills_runtime.cli.inputs import checked_path, resolve_settings
    from skills_runtime.cli.interrupts import exit_code_of
    from skills_runtime.cli.skill_evals import show_report, write_report
    from skills_runtime.cli.state import shown_path
    from skills_runtime.engine.skill_trials import AgentTrials
    from skills_runtime.skills.evals import (
        EvalPlan,
        Evaluation,
        TrialSkills,
        build_report,
        load_suite,
        open_eval_directory,
        save_report,
    )

    suite = load_suite(
        checked_path(path, option="SKILL_DIR|FILE"),
        skill=checked_path(skill, option="--skill") if skill is not None else None,
        among=[checked_path(one, option="--among") for one in among],
    )
    resolved = resolve_settings(ConfigOptions(workspace_root, config, assignments), program=context.obj.name)
    backend, model = backend_for(resolved), model_name(resolved)
    place = open_eval_directory(
        suite, checked_path(out, option="--out") if out is not None else None, Path.cwd(), model
    )
    skills = TrialSkills(place.skill, resolved.environment.process, place.others)
    plan = EvalPlan(runs=runs, parallel=parallel, judge=not no_judge, baseline=not no_baseline)
    evaluation = Evaluation(suite, place, AgentTrials(resolved, backend), skills, plan)
    trials, signal = asyncio.run(_run(evaluation, backend, quiet=quiet))
    if trials is None:
        print(f"stopped; the same command goes on in {shown_path(place.root)}", file=sys.stderr)
        return exit_code_of(signal)
    report = build_report(suite, trials, skill_name=evaluation.skill.name, model=model, runs=runs)
    save_report(place, report)
    (write_report if as_json else show_report)(report, sys.stdout)
    if not as_json:
        print(f"everything is in {shown_path(place.root)}")
    return 1 if report.errors else 0


async def _run(evaluation: "Evaluation", backend: "Backend", *, quiet: bool) -> "tuple[list[Trial] | None, int]":
    """Every trial, or nothing and the number of the signal that came before the end."""
    import asyncio

    from skills_runtime.cli.interrupts import interrupts
    from skills_runtime.cli.skill_evals import progress
    from skills_runtime.engine.skill_trials import close_backend

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


@app.command(
    "exec",
    cls=ExampleCommand,
    epilog=(
        'skills exec get-available-resources\nskills exec text-statistics --input \'{"text": "two words"}\' --json'
    ),
)
def skills_exec(
    context: typer.Context,
    *,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The skill, by its name or its whole mention.")],
    text: Annotated[
        str, typer.Option("--input", metavar="JSON", help="What it reads: JSON, @FILE, or - for standard input.")
    ] = "{}",
    timeout_ms: Annotated[
        int | None, typer.Option("--timeout-ms", metavar="N", min=1, help="How long it may take.")
    ] = None,
    key: Annotated[
        str | None, typer.Option("--idempotency-key", metavar="KEY", help="The same key gets the same result.")
    ] = None,
    artifacts_dir: Annotated[
        str | None, typer.Option("--artifacts-dir", metavar="DIR", help=f"Where it is kept ({PLACE}).")
    ] = None,
    source: Annotated[
        list[str],
        repeatable("--from", metavar="DIR", help="Look among the skills below a directory; repeatable."),
    ],
    as_json: Json = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
) -> int:
    """Execute a skill behind the fence, without a model; its output is JSON."""
    from skills_runtime.cli.inputs import checked_path, checked_text, resolve_settings
    from skills_runtime.cli.sandbox_command import Visits
    from skills_runtime.cli.skill_execution import execute, input_of, skill_named, tell
    from skills_runtime.cli.skill_report import library_at
    from skills_runtime.executions import PoolLimits
    from skills_runtime.executions.settings import build_executor
    from skills_runtime.skills import library_of

    given = ConfigOptions(workspace_root, config, assignments)
    value = input_of(checked_text(text, "--input"))
    resolved = resolve_settings(given, program=context.obj.name)
    configured = library_at(source) if source else library_of(resolved)
    library, skill = skill_named(checked_text(name, "NAME"), configured, resolved.environment.process)
    place = resolved.workspace_root / PLACE
    if artifacts_dir is not None:
        place = checked_path(artifacts_dir, option="--artifacts-dir")
    # One execution needs nothing that waits for the next.
    executor = build_executor(place, resolved, library, doorman=Visits().doorman, pool=PoolLimits(warm=0))
    execution = execute(executor, skill, value, timeout_ms=timeout_ms, key=key)
    return tell(execution, as_json=as_json)
