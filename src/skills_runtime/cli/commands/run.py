"""run: a task in, an auditable run out."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from skills_runtime.cli.options import ApprovalOptions, WorkOptions
from skills_runtime.cli.program import Command, Misuse, Program

if TYPE_CHECKING:
    from skills_runtime.agent import RunRequest


@dataclass(frozen=True, kw_only=True)
class RunCommandOptions(WorkOptions, ApprovalOptions):
    """What `run` takes."""

    prompt: Annotated[str | None, typer.Argument(metavar="PROMPT", help="The task.")] = None
    prompt_option: Annotated[str | None, typer.Option("--prompt", "-p", metavar="TEXT", help="The task.")] = None
    prompt_file: Annotated[
        str | None, typer.Option("--prompt-file", metavar="FILE", help="A file with the task; - is stdin.")
    ] = None
    image: Annotated[
        list[str], typer.Option("--image", metavar="FILE", help="A picture that belongs to the task; repeatable.")
    ] = field(default_factory=list[str])
    sandbox: Annotated[
        str | None, typer.Option("--sandbox", metavar="DIR", help="The new run directory; tools work inside it.")
    ] = None
    session_id: Annotated[
        str | None,
        typer.Option(
            "--session",
            "--session-id",
            metavar="ID",
            help="The session to join, with what was said in it; without a task, a talk on the terminal.",
        ),
    ] = None
    task_id: Annotated[str | None, typer.Option("--task-id", metavar="ID", help="The task this is a try of.")] = None
    run_id: Annotated[str | None, typer.Option("--run-id", metavar="ID", help="The id of this run.")] = None
    isolation: Annotated[
        Literal["none", "restricted"] | None, typer.Option("--isolation", help="How processes are fenced in.")
    ] = None
    review: Annotated[bool, typer.Option("--review", help="Let the result wait until somebody has approved it.")] = (
        False
    )
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", metavar="NUMBER", help="How many tokens the run may use.")
    ] = None
    max_cost: Annotated[
        float | None, typer.Option("--max-cost", metavar="DOLLARS", help="How much the run may cost.")
    ] = None
    on_limit: Annotated[
        Literal["fail", "park"] | None,
        typer.Option("--on-limit", help="Whether a run that reaches a limit waits for more or fails."),
    ] = None


def run(options: RunCommandOptions, program: Program) -> int:
    """Work on a task and keep everything in one run directory."""
    from skills_runtime.cli.people import people_here
    from skills_runtime.cli.planning import plan_run
    from skills_runtime.cli.settings import resolve_settings
    from skills_runtime.cli.terminal import somebody_is_there
    from skills_runtime.cli.working import work_on
    from skills_runtime.safety.policy.rule_files import user_rule_file

    talk = _is_talk(options) and somebody_is_there()
    request = None if talk else _request(options)
    _check_ids(options)
    resolved = resolve_settings(options, program="kgent" if options.sandbox else program.name, given=_given(options))
    people = people_here(options, options.approvals, rule_file=user_rule_file(resolved))
    if request is None:
        from skills_runtime.cli.chat import converse

        return converse(resolved, options.session_id or "", options, program, people)
    return work_on(lambda index: plan_run(resolved, request, index), options, program, people).exit_code


def _is_talk(options: RunCommandOptions) -> bool:
    """Whether a session is to go on message by message."""
    if options.session_id is None or (options.prompt, options.prompt_option, options.prompt_file) != (None, None, None):
        return False
    if options.run_id or options.task_id or options.sandbox or options.image:
        raise Misuse("`--run-id`, `--task-id`, `--sandbox` and `--image` belong to a task, and no task was given")
    return True


def _request(options: RunCommandOptions) -> "RunRequest":
    from skills_runtime.agent import RunRequest
    from skills_runtime.cli.machine import checked_path
    from skills_runtime.cli.prompt import read_prompt

    prompt = read_prompt(options.prompt, options.prompt_option, options.prompt_file)
    return RunRequest(
        prompt=prompt,
        sandbox_path=checked_path(options.sandbox, option="--sandbox") if options.sandbox is not None else None,
        session_id=options.session_id,
        task_id=options.task_id,
        run_id=options.run_id,
        images=tuple(checked_path(path, option="--image") for path in options.image),
    )


def _check_ids(options: RunCommandOptions) -> None:
    from skills_runtime.runs import check_id

    for noun, value in (("session", options.session_id), ("task", options.task_id), ("run", options.run_id)):
        if value is not None:
            check_id(value, noun)


def _given(options: RunCommandOptions) -> dict[str, dict[str, Any]]:
    """The settings that have an option of their own."""
    sections: dict[str, dict[str, Any]] = {
        "sandbox": {"default_policy": options.isolation},
        "run": {
            "review": "required" if options.review else None,
            "max_tokens": options.max_tokens,
            "max_cost_usd": options.max_cost,
            "on_limit": options.on_limit,
        },
    }
    chosen = {name: {key: value for key, value in one.items() if value is not None} for name, one in sections.items()}
    return {name: section for name, section in chosen.items() if section}


COMMAND = Command(
    options=RunCommandOptions,
    work=run,
    examples=(
        'run "Summarise notes.md in three sentences"',
        'run --config kgent.yaml --prompt "Write a report" --sandbox ./runs/demo-001',
    ),
)
