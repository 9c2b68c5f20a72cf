"""The `run` and `demo` commands."""

import sys
import termios
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlsplit

import typer
from rich.text import Text

from skills_runtime.cli.options import (
    Approvals,
    Assignments,
    ConfigFiles,
    ConfigOptions,
    EventsAsJson,
    ModelName,
    NoColor,
    Quiet,
    ViewOptions,
    WorkspaceRoot,
    display_path,
    find_run,
    parse_optional_path,
    parse_path,
    read_prompt,
    repeatable,
    resolve_settings,
)
from skills_runtime.cli.output import labeled_table, short_id, stderr_console
from skills_runtime.cli.program import ExampleCommand, UsageError, create_app
from skills_runtime.cli.runs import show_verdict, verify_run
from skills_runtime.text import readable_line

if TYPE_CHECKING:
    from skills_runtime.config import Resolved
    from skills_runtime.runs import Verdict

app = create_app()

DEMO_DIRECTORY = Path(__file__).parent / "demo"
_RUN_FILES = {
    "deliverables/report.md": "the result",
    "events.jsonl": "the authenticated event log",
    "transcript.md": "the log as readable text",
    "run.json": "the state of the run",
    "artifact-manifest.json": "inputs and outputs, with digests",
}


@app.command("demo", cls=ExampleCommand, epilog="demo\ndemo --output ./first-look")
def demo(
    context: typer.Context,
    *,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="DIR", help="The directory for the new run.")
    ] = "demo-output",
    no_color: NoColor = False,
) -> int:
    """Run a small scripted task offline and verify its log."""
    # The engine is slow to import, and help needs none of it.
    from skills_runtime.cli.live import create_run
    from skills_runtime.cli.terminal import NO_PARTICIPANTS
    from skills_runtime.clock import RandomIds
    from skills_runtime.config import resolve
    from skills_runtime.engine import RunRequest, read_demo

    run_id, demo_run = RandomIds().new("run"), read_demo(DEMO_DIRECTORY)
    path = parse_path(output, option="--output") / run_id
    request = RunRequest(prompt=demo_run.prompt, sandbox_path=path, run_id=run_id)
    resolved = resolve(Path.cwd(), session_settings=demo_run.settings)
    ending = create_run(
        request, resolved, ConfigOptions(), ViewOptions(no_color=no_color), context.obj, NO_PARTICIPANTS
    )
    if ending.exit_code:
        return ending.exit_code
    verdict, _ = verify_run(find_run(str(ending.root), "."))
    show_demo_hints(ending.root, verdict, program=context.obj.name, no_color=no_color)
    return 0 if verdict.ok else 20


@app.command(
    "run",
    cls=ExampleCommand,
    epilog=(
        'run "Summarize notes.md in three sentences"\n'
        'run --config kgent.yaml --prompt "Write a report" --sandbox ./runs/demo-001'
    ),
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
    model: ModelName = None,
    sandbox: Annotated[
        str | None, typer.Option("--sandbox", metavar="DIR", help="The new run directory; tools work inside it.")
    ] = None,
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
    from skills_runtime.cli.live import chat, create_run
    from skills_runtime.cli.terminal import is_interactive, resolve_interaction
    from skills_runtime.engine import RunRequest, rule_file_of

    options = ConfigOptions(workspace_root, config, assignments, model)
    view = ViewOptions(as_json, quiet, no_color)
    is_chat = session_id is not None and (prompt, prompt_option, prompt_file) == (None, None, None)
    if is_chat and (run_id or task_id or sandbox or image):
        raise UsageError("`--run-id`, `--task-id`, `--sandbox` and `--image` need a task")
    task = None if is_chat and is_interactive() else read_prompt(prompt, prompt_option, prompt_file)
    request = RunRequest(
        prompt=task or "",
        sandbox_path=parse_optional_path(sandbox, option="--sandbox"),
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
    program = "kgent" if sandbox else context.obj.name
    resolved = resolve_settings(options, program=program, chosen=chosen)
    _confirm_model(resolved)
    participants = resolve_interaction(view, approvals, rule_file=rule_file_of(resolved))
    if task is None:
        return chat(session_id or "", resolved, options, view, context.obj, participants)
    return create_run(request, resolved, options, view, context.obj, participants).exit_code


def _confirm_model(resolved: "Resolved") -> None:
    """Ask once per project and host whether to trust the model of a project; without a terminal, the run is refused."""
    from skills_runtime.cli.terminal import is_interactive, read_line_sync
    from skills_runtime.config import ModelConfirmations, state_home

    address = resolved.unconfirmed_model if resolved.settings.llm.backend == "openai" else None
    if address is None or not is_interactive():
        return
    sys.stderr.write(
        f"This project wants to send your conversations and the key in `{address.api_key_env}` to"
        f" {readable_line(address.base_url)}.\n"
    )
    stdin_fd = sys.stdin.fileno()
    termios.tcflush(stdin_fd, termios.TCIFLUSH)  # input typed before the question is not an answer
    host = readable_line(urlsplit(address.base_url).netloc)
    sys.stderr.write(f"Trust this project to send {address.api_key_env} to {host}? [y/N] ")
    sys.stderr.flush()
    if (read_line_sync(stdin_fd) or "").strip().lower() in ("y", "yes"):
        ModelConfirmations(state_home(resolved.environment.process)).add(address)


def show_demo_hints(root: Path, verdict: "Verdict", *, program: str, no_color: bool) -> None:
    """Print the files of a finished run and the next commands."""
    console = stderr_console(no_color=no_color)
    console.print()
    console.print(Text(display_path(root), style="bold"))
    console.print(labeled_table(_RUN_FILES, indent=2, width=0))
    show_verdict(verdict, console)
    console.print()
    console.print(Text("try next", style="bold"))
    name = short_id(root.name)
    for command in (f"runs show {name}", f"transcript {name}", f"verify {name}", "runs list"):
        console.print(Text(f"  {program} {command}"))
