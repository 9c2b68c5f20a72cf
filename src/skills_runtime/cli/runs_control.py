"""The `runs` commands that message, cancel, review, resume, fork, replay and compare runs."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from skills_runtime.cli.language import translate, translate_status
from skills_runtime.cli.options import (
    Approvals,
    Assignments,
    ConfigFiles,
    ConfigOptions,
    EventsAsJson,
    HiddenSandbox,
    Json,
    ModelName,
    NoColor,
    Quiet,
    RunDirectory,
    RunReference,
    ViewOptions,
    WorkspaceRoot,
    check_text,
    choose_run_directory,
    find_run,
    open_service,
    parse_answers,
    read_message,
    repeatable,
)
from skills_runtime.cli.output import Receipt, short_id, write_receipt, write_text
from skills_runtime.cli.program import ExampleCommand, UsageError, create_app
from skills_runtime.cli.run_text import CommandFor, exit_code_for
from skills_runtime.errors import LogEnded
from skills_runtime.events import RunStatus
from skills_runtime.projections import RunState
from skills_runtime.text import unified_diff

if TYPE_CHECKING:
    from skills_runtime.ports import InboxMessage

app = create_app()
review = create_app(
    "review",
    "Approve a result that is waiting for review, or send it back.",
    "runs review approve demo-001",
    'runs review revise demo-001 --note "Shorter, please"',
)
app.add_typer(review)

CANCEL_SECONDS = 30
"""How long the process that owns a run may take to stop it."""


@app.command(
    "send", cls=ExampleCommand, epilog='runs send demo-001 "Leave the tests alone"\nruns send demo-001 - < notes.md'
)
def send(
    context: typer.Context,
    *,
    run: RunReference,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The message; - reads stdin.")],
    as_json: Json = False,
    workspace_root: WorkspaceRoot = ".",
) -> int:
    """Send a message to a run; its model reads it at the next turn."""
    message_text = read_message(text, "TEXT")
    with open_service(ConfigOptions(workspace_root)) as service:
        message = service.send(run, message_text)
        state = service.view(run).state
    subject = translate("send.message", "message {number}", number=str(message.position))
    return _write_queued(message, subject, state, context.obj.name, as_json=as_json)


@app.command(
    "answer",
    cls=ExampleCommand,
    epilog="runs answer demo-001 blue\nruns answer demo-001 --set color=blue --set size=10",
)
def answer(
    context: typer.Context,
    *,
    run: RunReference,
    text: Annotated[
        str | None,
        typer.Argument(metavar="TEXT", help="The answer, or the number of a choice; - reads stdin."),
    ] = None,
    call: Annotated[
        str | None, typer.Option("--call", metavar="ID", help="The question to answer, if several are open.")
    ] = None,
    assignments: Annotated[
        list[str],
        repeatable("--set", metavar="ID=TEXT", help="One of several answers, by id; repeatable."),
    ],
    as_json: Json = False,
    workspace_root: WorkspaceRoot = ".",
) -> int:
    """Answer a question of a run; `runs resume` continues it."""
    if (text is None) == (not assignments):
        raise UsageError("give the answer once, as `TEXT` or as `--set ID=TEXT`")
    answers = parse_answers(assignments) if text is None else read_message(text, "TEXT")
    with open_service(ConfigOptions(workspace_root)) as service:
        message = service.answer_once(run, answers, call_id=call)
        state = service.view(run).state
    subject = translate("send.answer", "the answer to `{call}`", call=message.body["call_id"])
    return _write_queued(message, subject, state, context.obj.name, as_json=as_json)


def _write_queued(message: "InboxMessage", subject: str, state: RunState, program: str, *, as_json: bool) -> int:
    """Print when a run will read a message, and the command that resumes it where needed."""
    text = translate(
        "send.queued",
        "{subject} was sent to the run `{run}`; "
        "{when, select, running {it is read at the next turn} other {it is read when the run resumes}}",
        subject=subject,
        run=message.run_id,
        when=state.status.value,
    )
    return write_receipt(message, text, _resume_command(state, program), as_json=as_json)


def _resume_command(state: RunState, program: str) -> str:
    if state.status not in (RunStatus.WAITING_FOR_USER, RunStatus.REVISION_REQUIRED):
        return ""
    return CommandFor(program, short_id(state.run_id))("runs resume")


@app.command(
    "cancel", cls=ExampleCommand, epilog='runs cancel demo-001\nruns cancel demo-001 --reason "not needed any more"'
)
def cancel(
    *,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="The reason, recorded in the log.")
    ] = "cancelled",
    as_json: Json = False,
    workspace_root: WorkspaceRoot = ".",
    run: RunReference,
) -> int:
    """Cancel a run and wait until it has stopped."""
    import asyncio  # slow, and help needs none of it

    def say_waiting() -> None:
        text = translate("cancel.waiting", "waiting for the process that executes the run to stop")
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()

    reason_text = check_text(reason, "--reason")
    with open_service(ConfigOptions(workspace_root)) as service:
        state = asyncio.run(service.cancel(run, reason_text, patience=CANCEL_SECONDS, on_wait=say_waiting))
    if state.status is not RunStatus.CANCELLED:
        raise LogEnded(f"the run `{state.run_id}` is {state.status}: it finished before it could be cancelled")
    receipt = Receipt(run_id=state.run_id, status=state.status.value, reason=reason_text)
    return write_receipt(
        receipt, translate("cancel.done", "the run `{run}` is cancelled", run=state.run_id), as_json=as_json
    )


@review.command(
    "approve",
    cls=ExampleCommand,
    epilog='runs review approve demo-001\nruns review approve demo-001 --note "Checked by Ada"',
)
def approve(
    *,
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="A note to record with the decision.")] = "",
    as_json: Json = False,
    workspace_root: WorkspaceRoot = ".",
    run: RunReference,
) -> int:
    """Approve the result of a run, which completes it."""
    note_text = check_text(note, "--note")
    with open_service(ConfigOptions(workspace_root)) as service:
        status = service.review(run, accept=True, note=note_text)
        state = service.view(run).state
    receipt = Receipt(run_id=state.run_id, status=status.value, note=note_text)
    text = translate(
        "review.approved",
        "approved; the run `{run}` is {status}{reason, select, none {} other {: {reason}}}",
        run=state.run_id,
        status=translate_status(status, status),
        reason=state.failure_reason,
    )
    write_receipt(receipt, text, as_json=as_json)
    return exit_code_for(status)


@review.command(
    "revise",
    cls=ExampleCommand,
    epilog='runs review revise demo-001 --note "Shorter, please"\nruns review revise demo-001 --note - < notes.md',
)
def revise(
    context: typer.Context,
    *,
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="What to change; - reads stdin.")],
    as_json: Json = False,
    workspace_root: WorkspaceRoot = ".",
    run: RunReference,
) -> int:
    """Send a result back with a note for the model."""
    note_text = read_message(note, "--note")
    with open_service(ConfigOptions(workspace_root)) as service:
        status = service.review(run, accept=False, note=note_text)
        state = service.view(run).state
    receipt = Receipt(run_id=state.run_id, status=status.value, note=note_text)
    text_shown = translate(
        "review.revised", "the run `{run}` needs revision; it reads your note when it resumes", run=state.run_id
    )
    return write_receipt(receipt, text_shown, _resume_command(state, context.obj.name), as_json=as_json)


@app.command(
    "resume", cls=ExampleCommand, epilog="runs resume demo-001\nruns resume ./runs/demo-001 --set run.max_steps=80"
)
def resume(
    context: typer.Context,
    *,
    adopt: Annotated[
        bool, typer.Option("--adopt", help="Take over a run from a machine whose key is not here.")
    ] = False,
    model: ModelName = None,
    approvals: Approvals = None,
    as_json: EventsAsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
    run: RunReference,
) -> int:
    """Resume a run that was stopped, was killed, or is waiting."""
    from skills_runtime.cli.live import resume_run  # slow, and help needs none of it

    options = ConfigOptions(workspace_root, config, assignments, model)
    view = ViewOptions(as_json, quiet, no_color)
    return resume_run(run, options, view, context.obj, approvals=approvals, adopt=adopt).exit_code


@app.command(
    "fork", cls=ExampleCommand, epilog='runs fork demo-001 --at 12\nruns fork demo-001 --prompt "And now in Chinese"'
)
def fork(
    context: typer.Context,
    *,
    at: Annotated[
        int | None, typer.Option("--at", metavar="SEQ", help="The last event to keep; the end by default.")
    ] = None,
    prompt: Annotated[str | None, typer.Option("--prompt", "-p", metavar="TEXT", help="The new task.")] = None,
    run_dir: RunDirectory = None,
    sandbox: HiddenSandbox = None,
    run_id: Annotated[str | None, typer.Option("--run-id", metavar="ID", help="The id of the new run.")] = None,
    model: ModelName = None,
    approvals: Approvals = None,
    as_json: EventsAsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
    run: RunReference,
) -> int:
    """Start a new run from an event of another run."""
    # The engine is slow to import, and help needs none of it.
    from skills_runtime.cli.live import fork_run
    from skills_runtime.engine import RunRequest

    options = ConfigOptions(workspace_root, config, assignments, model)
    view = ViewOptions(as_json, quiet, no_color)
    request = RunRequest(
        prompt=prompt or "",
        sandbox_path=choose_run_directory(run_dir, sandbox),
        run_id=run_id,
        fork_of=run,
        fork_at=at,
    )
    return fork_run(run, request, options, view, context.obj, approvals=approvals).exit_code


@app.command("replay", cls=ExampleCommand, epilog="runs replay demo-001\nruns replay demo-001 --set run.max_steps=5")
def replay(
    *,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
    run: RunReference,
) -> int:
    """Replay a run from its log and report the first difference."""
    import asyncio  # slow, and help needs none of it

    with open_service(ConfigOptions(workspace_root, config, assignments)) as service:
        divergence = asyncio.run(service.replay(run))
    if divergence is None:
        write_text(translate("replay.same", "no divergence") + "\n")
    else:
        end = translate("replay.end", "the end")
        heading = translate("replay.differs", "action {number} differs", number=str(divergence.number))
        write_text(f"{heading}\n- {divergence.recorded or end}\n+ {divergence.replayed or end}\n")
    return 0 if divergence is None else 1


@app.command(
    "diff", cls=ExampleCommand, epilog="runs diff demo-001 demo-002\nruns diff ./runs/demo-001 ./runs/demo-002"
)
def diff(
    *,
    run: RunReference,
    other: Annotated[str, typer.Argument(metavar="OTHER", help="The run to compare it with.")],
    workspace_root: WorkspaceRoot = ".",
) -> int:
    """Compare the actions of two runs, ignoring ids and times."""
    runs = [find_run(text, workspace_root) for text in (run, other)]
    actions, other_actions = ([str(move) for move in recorded_run.actions()] for recorded_run in runs)
    lines = list(unified_diff(actions, other_actions, (run, other), context=1, end=""))
    write_text("".join(f"{line}\n" for line in lines))
    return 1 if lines else 0
