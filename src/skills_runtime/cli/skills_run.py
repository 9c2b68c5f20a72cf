"""The `skills exec` and `skills eval` commands."""

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skills_runtime.cli.language import translate, translate_error
from skills_runtime.cli.options import (
    Assignments,
    ConfigFiles,
    ConfigOptions,
    Json,
    WorkspaceRoot,
    check_text,
    display_path,
    parse_optional_path,
    parse_path,
    repeatable,
    resolve_settings,
)
from skills_runtime.cli.output import format_cost, notice_line, plural, write_json
from skills_runtime.cli.program import ExampleCommand, create_app, exit_code_for_signal, interrupts, write_error
from skills_runtime.errors import EXIT_CODES, ValidationFailed
from skills_runtime.text import one_line, readable_line

if TYPE_CHECKING:
    from skills_runtime.engine import Executions
    from skills_runtime.executions import Execution
    from skills_runtime.ports import Backend
    from skills_runtime.skills import Skill
    from skills_runtime.skills.evals import (
        ChoiceComparison,
        Difference,
        EvalReport,
        Evaluation,
        Rate,
        SkillChoices,
        Spread,
        Trial,
        TriggerReport,
    )

app = create_app()

EXECUTIONS = ".skills_runtime_sdk/executions"
"""The directory of executions, relative to the workspace."""
MAX_INPUT_BYTES = 64 << 20
ERROR_KINDS = {"timeout": "timeout", "cancelled": "cancelled", "resource_limit": "sandbox_denied"}
"""Error kinds by failure code; other failures are errors of the skill."""


@app.command(
    "eval",
    cls=ExampleCommand,
    epilog=("skills eval ./my-skill --runs 5 --among ./skills\nskills eval evals.json --skill ./my-skill --json"),
)
def skills_eval(
    *,
    path: Annotated[
        str,
        typer.Argument(
            metavar="SKILL_DIR|FILE",
            help="A skill with `evals/`, or an evals file. Exit code: 0 all trials valid, 1 not, 130 stopped.",
        ),
    ],
    runs: Annotated[int, typer.Option("--runs", min=1, max=1000, help="Trials per case and query.")] = 1,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="DIR", help="The directory for trials; default SKILL-workspace/iteration-N."),
    ] = None,
    skill: Annotated[
        str | None, typer.Option("--skill", metavar="DIR", help="The skill, if FILE is outside of it.")
    ] = None,
    among: Annotated[
        list[str],
        repeatable("--among", metavar="DIR", help="Other skills to offer for trigger queries; repeatable."),
    ],
    parallel: Annotated[int, typer.Option("--parallel", min=1, max=64, help="The number of concurrent trials.")] = 4,
    no_judge: Annotated[bool, typer.Option("--no-judge", help="Do not grade sentences with the model.")] = False,
    no_baseline: Annotated[bool, typer.Option("--no-baseline", help="Skip the trials without the skill.")] = False,
    as_json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the report.")] = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
) -> int:
    """Run the evals of a skill with and without it; repeat to resume."""
    # The engine is slow to import, and help needs none of it.
    import asyncio

    from skills_runtime.agent import backend_for, describe_models
    from skills_runtime.engine import AgentTrials
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
        parse_path(path, option="SKILL_DIR|FILE"),
        skill=parse_optional_path(skill, option="--skill"),
        among=[parse_path(directory_path, option="--among") for directory_path in among],
    )
    resolved = resolve_settings(ConfigOptions(workspace_root, config, assignments))
    backend, model = backend_for(resolved), describe_models(resolved)
    directory = open_eval_directory(suite, parse_optional_path(out, option="--out"), Path.cwd(), model)
    skills = TrialSkills(directory.skill, resolved.environment.process, directory.distractors)
    plan = EvalPlan(runs=runs, parallel=parallel, judge=not no_judge, baseline=not no_baseline)
    evaluation = Evaluation(suite, directory, AgentTrials(resolved, backend), skills, plan)
    trials, signal = asyncio.run(_run_trials(evaluation, backend, quiet=quiet))
    if trials is None:
        print(f"stopped; the same command resumes in {display_path(directory.root)}", file=sys.stderr)
        return exit_code_for_signal(signal)
    report = build_report(suite, trials, skill_name=evaluation.skill.name, model=model, runs=runs)
    save_report(directory, report)
    if as_json:
        write_json(report)
    else:
        _show_report(report)
        print(f"results are in {display_path(directory.root)}")
    return 1 if report.errors else 0


async def _run_trials(evaluation: "Evaluation", backend: "Backend", *, quiet: bool) -> "tuple[list[Trial] | None, int]":
    """Run all trials; return None and the signal number if interrupted."""
    # The engine is slow to import, and help needs none of it.
    import asyncio

    from skills_runtime.engine import close_backend

    def report_trial(trial: "Trial", number: int, of: int) -> None:
        if not quiet:
            name = f"{readable_line(trial.id)} {trial.variant.replace('_', ' ')} run {trial.number}"
            took = f"({trial.result.seconds:.1f} s, {trial.result.tokens} tokens)"
            print(f"[{number}/{of}] {name}: {_describe_trial(trial)} {took}", file=sys.stderr, flush=True)

    with interrupts() as interruption:
        work = asyncio.create_task(evaluation.run(report_trial))
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


def _show_report(report: "EvalReport") -> None:
    """Print the report."""
    from skills_runtime.skills.evals import EvalDelta  # slow, and help needs none of it

    print(f"{readable_line(report.skill_name)} with {readable_line(report.model)}, {plural(report.runs, 'run')} each")
    for name, part in report.run_summary.items():
        if isinstance(part, EvalDelta):
            has_costs = part.time_seconds is not None and part.tokens is not None
            more = f"; {part.time_seconds:+.1f} s, {part.tokens:+.0f} tokens a trial" if has_costs else ""
            print(f"difference: {_format_difference(part.passed)}{more}")
            continue
        rate = part.pass_rate
        assertions = "unknown" if rate is None else f"{rate.mean:.0%} ± {rate.stddev:.0%}"
        time, tokens = _format_spread(part.time_seconds), _format_spread(part.tokens)
        cost = format_cost(part.cost_usd) if part.cost_usd is not None else "unknown"
        usage = f"time {time} s, tokens {tokens}, cost {cost}"
        print(
            f"{name.replace('_', ' ')}: {_format_rate(part.passed)} of trials pass\n  assertions {assertions}, {usage}"
        )
        if part.errors or part.undecided:
            print(f"  {plural(part.errors, 'trial')} not counted, {part.undecided} undecided")
    for case in report.evals:
        with_skill, without_skill = _format_rate(case.with_skill), _format_rate(case.without_skill)
        print(f"\n{readable_line(case.id)}: {with_skill} with, {without_skill} without")
        for text, rates in case.assertions.items():
            both = " / ".join(_format_share(rates[name]) for name in ("with_skill", "without_skill"))
            print(f"  {both:>12}  {readable_line(text)}")
    if report.triggers is not None:
        _show_triggers(report.triggers)
    if report.cost_usd is not None:
        print(f"\ncost of everything: {format_cost(report.cost_usd)}")
    for error in report.errors:
        print(f"does not count: {readable_line(error)}")


def _describe_trial(trial: "Trial") -> str:
    if trial.result.error:
        return f"does not count: {readable_line(trial.result.error)}"
    if trial.triggered is not None:
        if trial.triggered:
            return "called the skill"
        other_calls = f"called {', '.join(map(readable_line, trial.chosen))}" if trial.chosen else ""
        if trial.variant == "without_skill":
            return other_calls or "called no skill"
        return f"did not call the skill but {other_calls}" if other_calls else "did not call the skill"
    results = [grade.passed for grade in trial.graded]
    undecided = f", {results.count(None)} undecided" if None in results else ""
    return f"{results.count(True)} of {len(results)} assertions held{undecided}"


def _show_triggers(triggers: "TriggerReport") -> None:
    print(f"\nqueries that do what they should: {_format_rate(triggers.correct)}")
    print(f"  called where it should be: {_format_rate(triggers.recall)}")
    _show_comparison(triggers.should_trigger)
    print(f"  called where it should not be: {_format_rate(triggers.false_alarms)}")
    _show_comparison(triggers.should_not_trigger)
    for query in triggers.queries:
        mark = {True: "right", False: "WRONG", None: "?"}[query.passed]
        should = "should" if query.should_trigger else "should not"
        print(f"  {mark:5} {_format_share(query.triggered):>6}  {should:10} {readable_line(query.query)[:100]}")
        if query.chosen.with_skill.others.hits:
            print(f"{'':15} with it: {_format_choices(query.chosen.with_skill)}")
        if query.chosen.without_skill is not None:
            print(f"{'':15} without it: {_format_choices(query.chosen.without_skill)}")


def _show_comparison(compared: "ChoiceComparison") -> None:
    """Print how often other skills were called, with and without the skill."""
    with_skill, without_skill = compared.with_skill, compared.without_skill
    if without_skill is None:
        if with_skill.others.hits:
            print(f"    another skill: {_format_rate(with_skill.others)}")
        return
    print(
        f"    another skill: {_format_rate(with_skill.others)} with it, {_format_rate(without_skill.others)} without it"
    )
    print(f"    difference for other skills: {_format_difference(compared.others)}")
    print(f"    difference for any skill: {_format_difference(compared.any_skill)}")


def _format_choices(choices: "SkillChoices") -> str:
    called = [f"{readable_line(name)} {_format_share(rate)}" for name, rate in choices.skills.items()]
    return ", ".join(
        [*called, f"no skill {_format_share(choices.none)}"] if choices.none.hits or not called else called
    )


def _format_rate(rate: "Rate") -> str:
    if rate.rate is None or rate.low is None or rate.high is None:
        return "unknown"
    return f"{rate.rate:.0%} ({rate.hits} of {rate.trials}; 95 % interval {rate.low:.0%} to {rate.high:.0%})"


def _format_share(rate: "Rate") -> str:
    return "-" if rate.rate is None else f"{rate.hits}/{rate.trials}"


def _format_difference(value: "Difference | None") -> str:
    if value is None:
        return "unknown"
    doubt = "" if value.clear else "; too few trials to tell"
    return f"{value.value * 100:+.0f} points (95 % interval {value.low * 100:+.0f} to {value.high * 100:+.0f}{doubt})"


def _format_spread(spread: "Spread | None") -> str:
    return "unknown" if spread is None else f"{spread.mean:.1f} ± {spread.stddev:.1f}"


@app.command(
    "exec",
    cls=ExampleCommand,
    epilog=(
        'skills exec get-available-resources\nskills exec text-statistics --input \'{"text": "two words"}\' --json'
    ),
)
def skills_exec(
    *,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name or mention of the skill.")],
    text: Annotated[
        str, typer.Option("--input", metavar="JSON", help="The input: JSON, @FILE, or - for stdin.")
    ] = "{}",
    timeout_ms: Annotated[int | None, typer.Option("--timeout-ms", metavar="N", min=1, help="The time limit.")] = None,
    key: Annotated[
        str | None,
        typer.Option("--idempotency-key", metavar="KEY", help="Return the stored result for a repeated key."),
    ] = None,
    artifacts_dir: Annotated[
        str | None, typer.Option("--artifacts-dir", metavar="DIR", help=f"The directory for executions ({EXECUTIONS}).")
    ] = None,
    source: Annotated[
        list[str],
        repeatable("--from", metavar="DIR", help="Use the skills below this directory; repeatable."),
    ],
    as_json: Json = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
) -> int:
    """Execute a skill in the sandbox, without a model, and print its JSON output."""
    # The engine is slow to import, and help needs none of it.
    import asyncio

    from skills_runtime.config import state_home
    from skills_runtime.engine import ExecutionOptions, Executions, Workspace
    from skills_runtime.skills import load_library_at

    value = _read_input(check_text(text, "--input"))
    resolved = resolve_settings(ConfigOptions(workspace_root, config, assignments))
    options = ExecutionOptions(
        resolved=resolved,
        directory=parse_optional_path(artifacts_dir, option="--artifacts-dir"),
        library=load_library_at(source) if source else None,
    )
    executions = Executions(Workspace(workspace_root=resolved.workspace_root, state=state_home()), options)
    skill = executions.find(check_text(name, "NAME"))
    execution = asyncio.run(_execute(executions, skill, value, timeout_ms=timeout_ms, key=key))
    directory = executions.directory_of(execution.id)
    command = show_command(execution.id, artifacts_dir, workspace_root)
    return _write_execution(execution, directory, command, as_json=as_json)


def _read_input(text: str) -> Any:
    """Parse the input: JSON, `@FILE`, or `-` for standard input."""
    try:
        if text == "-":
            data = sys.stdin.buffer.read(MAX_INPUT_BYTES + 1)
        elif text.startswith("@"):
            with Path(text[1:]).open("rb") as file:
                data = file.read(MAX_INPUT_BYTES + 1)
        else:
            data = text.encode()
        if len(data) > MAX_INPUT_BYTES:
            raise ValidationFailed(f"the input is longer than {MAX_INPUT_BYTES} bytes")
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValidationFailed(
            f"the input is not JSON: {error}", hint="""write it as '{"key": "value"}', @FILE, or - for standard input"""
        ) from None


async def _execute(
    executions: "Executions", skill: "Skill", value: Any, *, timeout_ms: int | None, key: str | None
) -> "Execution":
    """Execute a skill; a stop signal cancels it."""
    import asyncio  # slow, and help needs none of it

    async with executions:
        with interrupts() as interruption:
            running = asyncio.ensure_future(executions.start(skill, value, timeout_ms=timeout_ms, key=key))
            stopping = asyncio.ensure_future(interruption.wait())
            await asyncio.wait([running, stopping], return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            if not running.done():
                await executions.cancel_all()
            return await running


def show_command(execution_id: str, artifacts_dir: str | None, workspace_root: str) -> str:
    """Return the command that shows an execution."""
    options = [
        *(("--artifacts-dir", artifacts_dir) if artifacts_dir is not None else ()),
        *(("--workspace-root", workspace_root) if workspace_root != "." else ()),
    ]
    return shlex.join(("skills-runtime", "executions", "show", execution_id, *options))


def _write_execution(execution: "Execution", directory: Path, command: str, *, as_json: bool) -> int:
    """Write the output, or what went wrong, and return the exit code."""
    error, record = execution.error, execution.record
    if as_json:
        _write_output({**_build_document(execution), "directory": str(directory)})
    else:
        if error is None:
            _write_output(execution.output)
        for refusal in record.refused:
            text = "the artifact `{path}` was not saved: {reason}"
            path, reason = one_line(refusal.path), one_line(refusal.reason)
            sys.stderr.write(notice_line(translate("exec.refused", text, path=path, reason=reason)) + "\n")
    if error is None:
        return 0
    kind = ERROR_KINDS.get(error.code, "exit_code")
    if not as_json:
        sys.stderr.write(execution.stderr)
        text = "its files are in {path}; `{command}` shows it"
        hint = translate("exec.files", text, path=display_path(directory), command=command)
        if error.code == "timeout":
            text = "`--timeout-ms`, or `timeout` in the `skill.yaml` of `{skill}`, raises the limit; {hint}"
            hint = translate("exec.timeout", text, skill=one_line(record.skill), hint=hint)
        meaning = translate_error(kind, {"exit_code": record.exit_code})
        write_error(error.message, kind=kind, hint=hint, meaning=meaning)
    return EXIT_CODES[kind]


def _build_document(execution: "Execution") -> dict[str, Any]:
    error = execution.error
    return {
        "success": error is None,
        "executionId": execution.id,
        "status": execution.status,
        "output": execution.output,
        "error": error.message if error else None,
        "code": error.code if error else None,
        "exitCode": execution.exit_code,
        "durationMs": execution.duration_ms,
        "artifacts": [f"{execution.id}/{artifact.path}" for artifact in execution.artifacts],
        "refused": [{"path": refusal.path, "reason": refusal.reason} for refusal in execution.record.refused],
        "stderr": execution.stderr,
    }


def _write_output(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=2) + "\n")
