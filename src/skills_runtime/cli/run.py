"""The `run` and `chat` commands."""

import sys
import termios
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlsplit

import typer

from skills_runtime.cli.language import translate
from skills_runtime.cli.options import (
    Approvals,
    Assignments,
    ConfigFiles,
    ConfigOptions,
    EventsAsJson,
    HiddenSandbox,
    ModelName,
    NoColor,
    Quiet,
    RunDirectory,
    ViewOptions,
    WorkspaceRoot,
    choose_run_directory,
    parse_path,
    read_prompt,
    repeatable,
    resolve_settings,
)
from skills_runtime.cli.program import ExampleCommand, Program, UsageError, create_app
from skills_runtime.text import readable_line

if TYPE_CHECKING:
    from skills_runtime.cli.terminal import InteractionOptions
    from skills_runtime.config import Resolved

app = create_app()


@app.command(
    "run",
    cls=ExampleCommand,
    epilog=('run "Summarize notes.md in three sentences"\nrun "Write a report" --run-dir ./runs/demo-001'),
)
def run(
    context: typer.Context,
    *,
    prompt: Annotated[str | None, typer.Argument(metavar="PROMPT", help="The task.")] = None,
    prompt_option: Annotated[str | None, typer.Option("--prompt", "-p", metavar="TEXT", help="The task.")] = None,
    prompt_file: Annotated[
        str | None, typer.Option("--prompt-file", metavar="FILE", help="A file with the task; - reads stdin.")
    ] = None,
    image: Annotated[
        list[str],
        repeatable("--image", metavar="FILE", help="An image to attach to the task; repeatable."),
    ],
    run_dir: RunDirectory = None,
    sandbox: HiddenSandbox = None,
    model: ModelName = None,
    session_id: Annotated[
        str | None,
        typer.Option(
            "--session",
            "--session-id",
            metavar="ID",
            help="The session to continue; without a task, starts a chat.",
        ),
    ] = None,
    task_id: Annotated[
        str | None, typer.Option("--task-id", metavar="ID", help="The task id this run belongs to.")
    ] = None,
    run_id: Annotated[str | None, typer.Option("--run-id", metavar="ID", help="The id of the new run.")] = None,
    isolation: Annotated[
        Literal["none", "restricted"] | None, typer.Option("--isolation", help="The sandbox policy for processes.")
    ] = None,
    review: Annotated[bool, typer.Option("--review", help="Wait for a review before completing.")] = False,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", metavar="NUMBER", help="The token limit of the run.")
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option("--max-cost", metavar="DOLLARS", help="The cost limit of the run.")
    ] = None,
    on_limit: Annotated[
        Literal["fail", "park"] | None,
        typer.Option("--on-limit", help="Whether a run that reaches a limit fails or waits."),
    ] = None,
    approvals: Approvals = None,
    as_json: EventsAsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
) -> int:
    """Run a task and record it in a run directory."""
    # The engine is slow to import, and help needs none of it.
    from skills_runtime.cli.live import create_run
    from skills_runtime.cli.terminal import is_interactive, resolve_interaction
    from skills_runtime.engine import RunRequest, rule_file_of

    directory = choose_run_directory(run_dir, sandbox)
    options = ConfigOptions(workspace_root, config, assignments, model)
    view = ViewOptions(as_json, quiet, no_color)
    is_chat = session_id is not None and (prompt, prompt_option, prompt_file) == (None, None, None)
    if is_chat and (run_id or task_id or directory or image):
        raise UsageError("`--run-id`, `--task-id`, `--run-dir` and `--image` need a task")
    task = None if is_chat and is_interactive() else read_prompt(prompt, prompt_option, prompt_file)
    request = RunRequest(
        prompt=task or "",
        sandbox_path=directory,
        session_id=session_id,
        task_id=task_id,
        run_id=run_id,
        images=tuple(parse_path(path, option="--image") for path in image),
    )
    request.check_ids()
    limits = {"max_tokens": max_tokens, "max_cost_usd": max_cost, "on_limit": on_limit}
    run_settings = {"review": "required" if review else None, **limits}
    chosen = {
        "sandbox": {"default_policy": isolation} if isolation else {},
        "run": {key: value for key, value in run_settings.items() if value is not None},
    }
    resolved = resolve_settings(options, chosen=chosen, has_run_directory=directory is not None)
    _confirm_model(resolved)
    participants = resolve_interaction(view, approvals, rule_file=rule_file_of(resolved))
    if task is None:
        return _start_chat(session_id or "", resolved, options, view, context.obj, participants)
    return create_run(request, resolved, options, view, context.obj, participants).exit_code


@app.command("chat", cls=ExampleCommand, epilog="chat\nchat --session plan")
def chat(
    context: typer.Context,
    *,
    session_id: Annotated[
        str | None, typer.Option("--session", "--session-id", metavar="ID", help="The chat to continue.")
    ] = None,
    model: ModelName = None,
    approvals: Approvals = None,
    no_color: NoColor = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
) -> int:
    """Chat with an agent; every message is a run of one session."""
    from skills_runtime.cli.chat import new_session_id
    from skills_runtime.cli.terminal import is_interactive, resolve_interaction
    from skills_runtime.engine import RunRequest, rule_file_of

    if not is_interactive():
        raise UsageError('a chat needs a terminal; without one, use `run "TASK" --session ID`')
    session_id = session_id if session_id is not None else new_session_id()
    RunRequest(prompt="", session_id=session_id).check_ids()
    options, view = ConfigOptions(workspace_root, config, assignments, model), ViewOptions(no_color=no_color)
    resolved = resolve_settings(options)
    _confirm_model(resolved)
    participants = resolve_interaction(view, approvals, rule_file=rule_file_of(resolved))
    return _start_chat(session_id, resolved, options, view, context.obj, participants)


def _start_chat(
    session_id: str,
    resolved: "Resolved",
    options: ConfigOptions,
    view: ViewOptions,
    program: Program,
    participants: "InteractionOptions",
) -> int:
    from skills_runtime.cli.chat import Chat

    return Chat(session_id, resolved, options, replace(view, is_chat=True), program, participants).run()


def _confirm_model(resolved: "Resolved") -> None:
    """Ask once per project and host whether to trust the model of a project; without a terminal, the run is refused."""
    from skills_runtime.cli.terminal import is_interactive, read_line_sync
    from skills_runtime.config import ModelConfirmations, state_home

    address = resolved.unconfirmed_model if resolved.settings.llm.backend == "openai" else None
    if address is None or not is_interactive():
        return
    wish = "This project wants to send your conversations and the key in `{variable}` to {url}."
    variable, url = address.api_key_env, readable_line(address.base_url)
    sys.stderr.write(translate("trust.wish", wish, variable=variable, url=url) + "\n")
    stdin_fd = sys.stdin.fileno()
    termios.tcflush(stdin_fd, termios.TCIFLUSH)  # input typed before the question is not an answer
    host = readable_line(urlsplit(address.base_url).netloc)
    question = "Trust this project to send {variable} to {host}? [y/N] "
    sys.stderr.write(translate("trust.question", question, variable=variable, host=host))
    sys.stderr.flush()
    if (read_line_sync(stdin_fd) or "").strip().lower() in ("y", "yes"):
        ModelConfirmations(state_home(resolved.environment.process)).add(address)
