"""run: a task in, an auditable run out."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from skills_runtime.cli.options import ConfigOptions, ViewOptions
from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class RunCommandOptions(ConfigOptions, ViewOptions):
    """What `run` takes."""

    prompt: Annotated[str | None, typer.Argument(metavar="PROMPT", help="The task.")] = None
    prompt_option: Annotated[str | None, typer.Option("--prompt", "-p", metavar="TEXT", help="The task.")] = None
    prompt_file: Annotated[
        str | None, typer.Option("--prompt-file", metavar="FILE", help="A file with the task; - is stdin.")
    ] = None
    sandbox: Annotated[
        str | None, typer.Option("--sandbox", metavar="DIR", help="The new run directory; tools work inside it.")
    ] = None
    session_id: Annotated[str | None, typer.Option("--session-id", metavar="ID", help="The session to join.")] = None
    task_id: Annotated[str | None, typer.Option("--task-id", metavar="ID", help="The task this is a try of.")] = None
    run_id: Annotated[str | None, typer.Option("--run-id", metavar="ID", help="The id of this run.")] = None
    isolation: Annotated[
        Literal["none", "restricted"] | None, typer.Option("--isolation", help="How processes are fenced in.")
    ] = None


def run(options: RunCommandOptions, program: Program) -> int:
    """Work on a task and keep everything in one run directory."""
    from skills_runtime.agent import RunRequest
    from skills_runtime.cli.execution import execute
    from skills_runtime.cli.machine import checked_path, known_runs
    from skills_runtime.cli.planning import plan_run
    from skills_runtime.cli.prompt import read_prompt
    from skills_runtime.cli.render.answer import write_answer
    from skills_runtime.cli.settings import resolve_settings
    from skills_runtime.cli.views import view_of
    from skills_runtime.runs import check_id

    prompt = read_prompt(options.prompt, options.prompt_option, options.prompt_file)
    sandbox: Path | None = checked_path(options.sandbox, option="--sandbox") if options.sandbox is not None else None
    for noun, value in (("session", options.session_id), ("task", options.task_id), ("run", options.run_id)):
        if value is not None:
            check_id(value, noun)
    request = RunRequest(
        prompt=prompt,
        sandbox_path=sandbox,
        session_id=options.session_id,
        task_id=options.task_id,
        run_id=options.run_id,
    )
    given = {"sandbox": {"default_policy": options.isolation}} if options.isolation else {}
    resolved = resolve_settings(options, program="kgent" if sandbox else program.name, given=given)
    with known_runs() as index:
        plan, notices = plan_run(resolved, request, index)
        ending = execute(plan, index, view_of(options, plan, notices, program))
    if not options.json:
        write_answer(ending.state.final_output)
    return ending.exit_code


COMMAND = Command(
    options=RunCommandOptions,
    work=run,
    examples=(
        'run "Summarise notes.md in three sentences"',
        'run --config kgent.yaml --prompt "Write a report" --sandbox ./runs/demo-001',
    ),
)
