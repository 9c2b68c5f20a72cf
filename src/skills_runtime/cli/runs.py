"""The `runs` and `ledger` commands: list, show, verify and export runs, and rebuild the index."""

import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import typer
from rich.console import Console, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.text import Text

from skills_runtime.cli import runs_control, runs_delete
from skills_runtime.cli.approval_text import describe_added_rules
from skills_runtime.cli.language import translate, translate_phrase
from skills_runtime.cli.options import (
    ConfigOptions,
    Json,
    NoColor,
    RunReference,
    WorkspaceRoot,
    display_path,
    find_run,
    open_service,
    parse_optional_path,
    parse_path,
)
from skills_runtime.cli.output import (
    format_cost,
    format_count,
    format_duration,
    justify_line,
    labeled_table,
    list_table,
    local_time,
    milliseconds_between,
    notice_line,
    short_id,
    status_text,
    stderr_console,
    stdout_console,
    truncate,
    write_json,
    write_notices,
    write_text,
)
from skills_runtime.cli.program import ExampleCommand, UsageError, create_app
from skills_runtime.cli.run_text import CommandFor, Steps, describe_event, list_waits, step_lines, wait_lines
from skills_runtime.errors import LogCorrupt, SkillsRuntimeError
from skills_runtime.events import (
    ApprovalDecided,
    Event,
    HumanRequest,
    Payload,
    RunStatus,
    data_of,
    decode_event,
    parse_status,
)
from skills_runtime.projections import Metrics, RunView, fold
from skills_runtime.render import is_skill_notice, skill_note
from skills_runtime.text import make_title, readable_line

if TYPE_CHECKING:
    from skills_runtime.engine import RecordedRun, RunService
    from skills_runtime.ledger import Problem, RunRow
    from skills_runtime.runs import Verdict

MAX_STEPS = 40
_LABEL = 10
_COLUMNS: dict[str, JustifyMethod] = {
    "run": "left", "status": "left", "task": "left", "started": "left", "time": "right", "tokens": "right",
}  # fmt: skip
_WAITING_STATUSES = (RunStatus.WAITING_FOR_USER, RunStatus.REVIEW_REQUIRED, RunStatus.REVISION_REQUIRED)
_ID_CELLS = 24
app = create_app("runs", "List, inspect, message, resume, fork, replay and delete runs.", "runs list", "runs show last")
app.add_typer(runs_control.app)
app.add_typer(runs_delete.app)
shortcuts = create_app()
"""Commands that also exist without the `runs` prefix, as they did earlier; help pages do not show them."""
_LIST_EXAMPLES = "runs list --status failed\nruns list --session demo --search report"
_VERIFY_CODES = {"verified": 0, "not_verified": 20, "not_authenticated": 28}
_VERIFY_EXAMPLES = "runs verify last\nruns verify ./runs/demo-001 --json"
_TRANSCRIPT_EXAMPLES = "runs transcript last\nruns transcript demo-001 --check"


@shortcuts.command("ls", cls=ExampleCommand, hidden=True, epilog=_LIST_EXAMPLES)
@app.command("list", cls=ExampleCommand, epilog=_LIST_EXAMPLES)
def list_runs(
    context: typer.Context,
    *,
    status: Annotated[
        str | None, typer.Option("--status", metavar="STATE", help="Only runs with this status, such as failed.")
    ] = None,
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="Only runs of this session, grouped by task.")
    ] = None,
    search: Annotated[
        str | None, typer.Option("--search", metavar="TEXT", help="Only runs whose task or answer contains this text.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="The number of runs to show.")] = 50,
    everything: Annotated[bool, typer.Option("--all", help="Include the runs of all workspaces.")] = False,
    as_json: Json = False,
    no_color: NoColor = False,
    workspace_root: WorkspaceRoot = ".",
) -> int:
    """List the runs of this workspace, newest first."""
    from skills_runtime.engine import RunFilter  # slow, and help needs none of it

    run_filter = RunFilter(
        status=parse_status(status) if status else None,
        session_id=session,
        text=search or "",
        everywhere=everything,
    )
    with open_service(ConfigOptions(workspace_root)) as service:
        problems = run_problems(service.refresh(everywhere=everything))
        rows = service.list_runs(run_filter, limit=limit)
        kinds = _waiting_kinds(service, rows)
    if as_json:
        for row in rows:
            write_json(row, pretty=False)
        return 0
    program, hints = context.obj.name, stderr_console(no_color=no_color)
    if problems:
        text = translate(
            "runs.unreadable",
            "{count, plural, one {# run} other {# runs}} could not be read; `{program} ledger rebuild` shows why",
            count=len(problems),
            program=program,
        )
        hints.print(Text(notice_line(text), style="dim"))
    if not rows:
        none = "no runs found; `{program} demo` creates one, `--all` lists all workspaces"
        hints.print(Text(translate("runs.none", none, program=program)))
        return 0
    _show_rows(rows, kinds, stdout_console(no_color=no_color), by_task=session is not None)
    if waiting := sum(row.status in _WAITING_STATUSES for row in rows):
        has_approvals = any(row.pending_approvals for row in rows)
        hints.print(Text(_describe_waiting(waiting, program, has_approvals=has_approvals), style="dim"))
    return 0


def _describe_waiting(count: int, program: str, *, has_approvals: bool) -> str:
    """Say how many runs wait, and which command shows what for."""
    if has_approvals:
        return translate(
            "runs.waiting_approvals",
            "{count, plural, one {# run waits} other {# runs wait}} for you; "
            "`{program} approvals list` shows the requests",
            count=count,
            program=program,
        )
    return translate(
        "runs.waiting",
        "{count, plural, one {# run waits} other {# runs wait}} for you; `{program} runs show RUN` shows what for",
        count=count,
        program=program,
    )


def _waiting_kinds(service: "RunService", rows: "Sequence[RunRow]") -> dict[str, str]:
    """Return what each waiting run waits for, where its log can be read."""
    kinds: dict[str, str] = {}
    for row in rows:
        if row.status is RunStatus.WAITING_FOR_USER:
            with suppress(SkillsRuntimeError, OSError):
                kinds[row.run_id] = service.view(row.path).state.waiting_kind or ""
    return kinds


def _show_rows(rows: "Sequence[RunRow]", kinds: Mapping[str, str], console: Console, *, by_task: bool) -> None:
    """Print one line per run, optionally grouped by task."""
    groups: dict[str, list[dict[str, Text]]] = {}
    for row in rows:
        name, status = short_id(row.run_id), status_text(row.status, kinds.get(row.run_id))
        if row.pending_approvals:
            approvals = "{count, plural, one {# approval} other {# approvals}}"
            status.append(f" · {translate('runs.approvals', approvals, count=row.pending_approvals)}")
        cells = {
            "run": Text(truncate(name, _ID_CELLS) if console.is_terminal else name, style="cyan"),
            "status": status,
            "task": Text(readable_line(row.title)),
            "started": Text(local_time(row.started_at), style="dim"),
            "time": Text(format_duration(milliseconds_between(row.started_at, row.completed_at)), style="dim"),
            "tokens": Text(format_count(row.input_tokens + row.output_tokens), style="dim"),
        }
        groups.setdefault(row.task_id if by_task else "", []).append(cells)
    for task_id, lines in groups.items():
        if by_task:
            number = translate("runs.count", "{count, plural, one {# run} other {# runs}}", count=len(lines))
            console.print(Text.assemble((translate("runs.task", "task "), "bold"), task_id, (f"  {number}", "dim")))
        narrow = ("run", "status", "task")
        console.print(list_table(console, lines, _COLUMNS, narrow_columns=narrow, flexible="task", min_width=8))


@app.command("show", cls=ExampleCommand, epilog="runs show last\nruns show ./runs/demo-001 --json")
def show(
    context: typer.Context,
    *,
    as_json: Json = False,
    no_color: NoColor = False,
    workspace_root: WorkspaceRoot = ".",
    run: RunReference,
) -> int:
    """Show the status, steps, files and open questions of a run."""
    page = load_page(find_run(run, workspace_root))
    if as_json:
        write_json(_page_document(page))
        return 0
    _show_page(page, CommandFor(context.obj.name, run), stdout_console(no_color=no_color))
    if page.has_unverified_events:
        warning = translate(
            "runs.unverified",
            "parts of this log could not be verified; `{program} runs verify` shows why",
            program=context.obj.name,
        )
        stderr_console(no_color=no_color).print(Text(notice_line(warning), style="red"))
    return 0


@app.command(
    "tail", cls=ExampleCommand, epilog="runs tail demo-001 --follow\nruns tail ./runs/demo-001 --from 12 --json"
)
def tail(
    *,
    start: Annotated[int, typer.Option("--from", min=0, metavar="SEQ", help="The number of the first event.")] = 0,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Wait for new events until the run ends.")] = False,
    as_json: Json = False,
    no_color: NoColor = False,
    workspace_root: WorkspaceRoot = ".",
    run: RunReference,
) -> int:
    """Show the events of a run, one per line."""
    recorded_run, console = find_run(run, workspace_root), stdout_console(no_color=no_color)

    def write(line: bytes, number: int) -> None:
        if as_json:
            sys.stdout.buffer.write(line + b"\n")
        else:
            try:
                text = event_line(decode_event(line, index=number))
            except msgspec.MsgspecError as error:
                raise LogCorrupt(f"line {number + 1} of the log is not an event") from error
            if console.is_terminal:
                text.truncate(console.width, overflow="ellipsis")
            console.print(text)
        sys.stdout.flush()

    if follow:
        _follow(recorded_run, start, write)
        return 0
    for number, line in recorded_run.lines(start):
        write(line, number)
    return 0


def _follow(run: "RecordedRun", start: int, write: Callable[[bytes, int], None]) -> None:
    """Write every line from number `start` on until the run ends."""
    import asyncio  # slow, and only this needs it

    async def follow() -> None:
        async for number, line in run.follow(start):
            write(line, number)

    # Readers hold nothing: let Ctrl-C end the process at once instead of waiting for the watcher.
    previous_handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        asyncio.run(follow())
    finally:
        signal.signal(signal.SIGINT, previous_handler)


def event_line(event: Event) -> Text:
    """Render an event on one line."""
    data = data_of(event.payload)
    if event.type == "tool_call_finished":
        result: dict[str, Any] = data.get("result") or {}
        failed = not result.get("ok")
    elif event.type == "network_decision":
        failed = data.get("verdict") == "deny"
    else:
        failed = event.type == "run_failed" or (event.type == "file_operation" and not data.get("ok"))
    style = "red" if failed else "yellow" if is_skill_notice(event.payload) else ""
    return Text.assemble(
        (f"{event.seq:>5}  ", "dim"),
        (f"{local_time(event.timestamp, form='%H:%M:%S')}  ", "dim"),
        (f"{readable_line(event.type):<22}  ", style or "bold"),
        (describe_event(event), style),
    )


@shortcuts.command("verify", cls=ExampleCommand, hidden=True, epilog=_VERIFY_EXAMPLES)
@app.command("verify", cls=ExampleCommand, epilog=_VERIFY_EXAMPLES)
def verify(
    *,
    unauthenticated: Annotated[
        bool,
        typer.Option(
            "--unauthenticated", help="Accept a log whose key is not on this machine (exit code 28 otherwise)."
        ),
    ] = False,
    as_json: Json = False,
    no_color: NoColor = False,
    workspace_root: WorkspaceRoot = ".",
    run: RunReference,
) -> int:
    """Verify the files of a run and the integrity of its log."""
    verdict, notices = verify_run(find_run(run, workspace_root))
    if as_json:
        outcome = {"ok": verdict.ok, "outcome": verdict.outcome}
        write_json({**outcome, **msgspec.to_builtins(verdict)}, pretty=False)
    else:
        write_notices(notices)
        show_verdict(verdict, stdout_console(no_color=no_color))
        if verdict.outcome == "not_authenticated" and not unauthenticated:
            hint = translate(
                "verify.unauthenticated",
                "its author is not verified; `--unauthenticated` accepts it because all digests match",
            )
            stderr_console(no_color=no_color).print(Text(hint, style="dim"))
    accepted = unauthenticated and verdict.outcome == "not_authenticated"
    return 0 if accepted else _VERIFY_CODES[verdict.outcome]


def verify_run(run: "RecordedRun") -> "tuple[Verdict, list[str]]":
    """Verify a run, and return notices about checks that were not possible."""
    try:
        with open_service() as service:
            head = service.last_indexed_head(run)
    except SkillsRuntimeError as error:
        length = "the length of the log could not be checked against the ledger: {reason}"
        return run.verify(), [translate("verify.length", length, reason=error.message)]
    return run.verify(head), []


def show_verdict(verdict: "Verdict", console: Console) -> None:
    """Print a verdict with its findings."""
    for finding in verdict.findings:
        mark, style = ("✗", "red") if finding.severity == "error" else ("note:", "dim")
        location = (f"{mark} {readable_line(finding.where)}  ", style)
        console.print(Text.assemble(location, readable_line(finding.message)))
    if verdict.outcome == "verified":
        text = "✓ verified: {events, plural, one {# event} other {# events}}, authentic"
        console.print(Text(translate("verify.verified", text, events=verdict.events), style="green"))
    elif verdict.outcome == "not_authenticated":
        text = "? not authenticated: {events, plural, one {# event} other {# events}}, all digests match"
        console.print(Text(translate("verify.not_authenticated", text, events=verdict.events), style="bold yellow"))
    else:
        errors = sum(finding.severity == "error" for finding in verdict.findings)
        text = "✗ not verified: {errors, plural, one {# finding} other {# findings}}"
        console.print(Text(translate("verify.not_verified", text, errors=errors), style="bold red"))


@app.command("open", cls=ExampleCommand, epilog="runs open last\nruns open demo-001")
def open_files(
    *,
    workspace_root: WorkspaceRoot = ".",
    run: RunReference,
) -> int:
    """Print the directory of a run's deliverables, and open it on a desktop."""
    from skills_runtime.cli.serve import has_screen
    from skills_runtime.config import process_environ

    root = find_run(run, workspace_root).paths.root
    deliverables = root / "deliverables"
    directory = deliverables if deliverables.is_dir() and any(deliverables.iterdir()) else root
    write_text(f"{display_path(directory)}\n")
    if sys.stdout.isatty() and has_screen(process_environ()):
        typer.launch(str(directory))
    return 0


@app.command(
    "accept",
    cls=ExampleCommand,
    epilog="runs accept demo-001 --list\nruns accept demo-001 ./new-project/.git",
)
def accept(
    *,
    listing: Annotated[bool, typer.Option("--list", help="Only list the quarantined files.")] = False,
    workspace_root: WorkspaceRoot = ".",
    run: RunReference,
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="[PATH]...", help="Only these paths; all by default.")
    ] = None,
) -> int:
    """Restore files that were quarantined after a command."""
    recorded_run = find_run(run, workspace_root)
    for path in recorded_run.list_quarantined() if listing else recorded_run.accept_quarantined(paths or ()):
        write_text(f"{display_path(Path(path))}\n")
    return 0


@app.command(
    "export", cls=ExampleCommand, epilog="runs export demo-001\nruns export ./runs/demo-001 --output demo-001.tar.gz"
)
def export(
    *,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Also write the run to this .tar.gz file.")
    ] = None,
    with_blobs: Annotated[
        bool, typer.Option("--with-blobs", help="Include private contents that the log only references.")
    ] = False,
    html: Annotated[
        str | None,
        typer.Option("--html", metavar="FILE", help="Write the run as an HTML page to this file instead."),
    ] = None,
    lang: Annotated[Literal["en", "zh"], typer.Option("--lang", help="The language of the HTML page.")] = "en",
    workspace_root: WorkspaceRoot = ".",
    run: RunReference,
) -> int:
    """Write the checksums and provenance of a run, or an archive of it."""
    if html is not None and (output is not None or with_blobs):
        raise UsageError("`--html` excludes `--output` and `--with-blobs`")
    recorded_run = find_run(run, workspace_root)
    if html is not None:
        page = parse_path(html, option="--html")
        recorded_run.write_page(page, lang)
        paths = [page]
    else:
        paths = recorded_run.export(parse_optional_path(output, option="--output"), with_blobs=with_blobs)
    for path in paths:
        write_text(f"{display_path(path)}\n")
    return 0


@app.command(
    "metrics",
    cls=ExampleCommand,
    epilog="runs metrics --run-id demo-001\nruns metrics --wal-locator runs/demo-001/events.jsonl",
)
def metrics(
    *,
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="A run directory, a run id, or how the id begins.")
    ] = None,
    run_id: Annotated[str | None, typer.Option("--run-id", metavar="ID", help="The run id.")] = None,
    wal_locator: Annotated[
        str | None, typer.Option("--wal-locator", metavar="FILE", help="The path of events.jsonl.")
    ] = None,
    workspace_root: WorkspaceRoot = ".",
) -> int:
    """Print the metrics of a run as JSON."""
    references = [name for name in (run, run_id, wal_locator) if name is not None]
    if len(references) != 1:
        raise UsageError("name one run, as `RUN`, `--run-id ID` or `--wal-locator FILE`")
    write_json(fold(find_run(references[0], workspace_root).events(), Metrics()).summary())
    return 0


@shortcuts.command("transcript", cls=ExampleCommand, hidden=True, epilog=_TRANSCRIPT_EXAMPLES)
@app.command("transcript", cls=ExampleCommand, epilog=_TRANSCRIPT_EXAMPLES)
def transcript(
    *,
    check: Annotated[bool, typer.Option("--check", help="Only check whether transcript.md matches the log.")] = False,
    workspace_root: WorkspaceRoot = ".",
    run: RunReference,
) -> int:
    """Print a run as readable text, generated from its log."""
    recorded_run = find_run(run, workspace_root)
    if not check:
        for piece in recorded_run.transcript():
            write_text(piece)
        return 0
    is_current = recorded_run.is_transcript_current()
    current = "{is_current, select, yes {the transcript matches the log} other {the transcript does not match the log}}"
    sys.stdout.write(translate("transcript.current", current, is_current="yes" if is_current else "no") + "\n")
    return 0 if is_current else 20


ledger = create_app("ledger", "Maintain the index of runs.", "ledger rebuild", "ledger rebuild ./runs")


@ledger.command("rebuild", cls=ExampleCommand, epilog="ledger rebuild\nledger rebuild ./runs ~/archive/runs")
def ledger_rebuild(
    *,
    roots: Annotated[
        list[str],
        typer.Argument(
            metavar="ROOT...",
            help="Directories that contain run directories; all known ones by default.",
            default_factory=list,
            show_default=False,
        ),
    ],
    workspace_root: WorkspaceRoot = ".",
) -> int:
    """Rebuild the index of runs from the run directories."""
    from skills_runtime.engine import refresh, workspace_roots  # slow, and help needs none of it

    with open_service(ConfigOptions(workspace_root)) as service:
        index = service.ledger.index
        paths = [parse_path(root, option="ROOT") for root in roots]
        report = refresh(index, paths or workspace_roots(index, service.workspace.workspace_root), service.ports)
        run_count = len(index.locations())
    problems = run_problems(report.problems)
    known = "{count, plural, one {# run} other {# runs}} known, {removed} gone"
    sys.stdout.write(translate("ledger.rebuilt", known, count=run_count, removed=report.removed) + "\n")
    for problem in problems:
        sys.stderr.write(f"{problem.kind}: {readable_line(problem.message)}\n")
    return 20 if problems else 0


def run_problems(problems: "Iterable[Problem]") -> "list[Problem]":
    """Return the problems of run directories, ignoring other directories beside them."""

    def is_run(path: Path) -> bool:
        try:
            names = {entry.name for entry in path.iterdir()}
        except OSError:
            return True
        return bool(names & {"events.jsonl", "run.json"})

    return [problem for problem in problems if is_run(problem.path)]


# The page of one run


class Page(msgspec.Struct):
    """The data of `runs show`."""

    root: Path
    prompt: str = ""
    has_unverified_events: bool = False
    """Whether run.json records more events than the verified part of the log."""
    view: RunView = msgspec.field(default_factory=RunView)
    metrics: Metrics = msgspec.field(default_factory=Metrics)
    steps: Steps = msgspec.field(default_factory=Steps)
    requests: dict[str, HumanRequest] = {}
    """The full questions by call id."""
    skills: list[Payload] = []
    """Skill events, in log order."""
    rules: list[dict[str, Any]] = []
    """The rules that decisions added, with their scopes."""
    messages: int = 0
    """The number of unread messages to the run."""


def load_page(run: "RecordedRun") -> Page:
    """Load the page of a run from its log."""
    page = Page(run.paths.root)
    for event in run.read_trusted_events():
        if isinstance(event.payload, HumanRequest):
            page.requests[event.payload.call_id] = event.payload
        if isinstance(event.payload, ApprovalDecided) and event.payload.rule:
            page.rules.append(event.payload.rule)
        if skill_note(event.payload):
            page.skills.append(event.payload)
        page.view.apply(event)
        page.metrics.apply(event)
        page.steps.apply(event)
    state = page.view.state
    page.prompt = run.prompt or state.task
    page.has_unverified_events = run.last_recorded > state.last_seq
    if state.open:
        with suppress(SkillsRuntimeError), open_service() as service:  # works without the ledger
            unread = service.ledger.inbox.pending(state.run_id)
            page.messages = sum(message.position > state.inbox_position for message in unread)
    return page


def _page_document(page: Page) -> dict[str, Any]:
    """Build the JSON object of a run: run.json, path, waits, metrics and notices."""
    from skills_runtime.engine import record_document  # slow, and help needs none of it

    state, pending = page.view.state, page.view.pending
    waiting = {
        "kind": state.waiting_kind,
        "message": state.waiting_message,
        "questions": list(pending.questions.values()),
        "approvals": list(pending.approvals.open.values()),
        "unread_messages": page.messages,
    }
    return record_document(state) | {
        "path": str(page.root),
        "waiting": waiting if state.open else None,
        "metrics": page.metrics.summary(),
        "notices": [str(skill_note(skill)) for skill in page.skills if is_skill_notice(skill)],
    }


def _show_page(page: Page, command: CommandFor, console: Console) -> None:
    """Print the page of a run."""
    state = page.view.state
    title = Text.assemble((translate("show.run", "run "), "bold"), (state.run_id, "bold cyan"), "  ")
    console.print(title.append_text(status_text(state.status, state.waiting_kind)))
    console.print(labeled_table(_list_facts(page), indent=2, width=_LABEL))
    notes = {
        readable_line(translate_phrase(skill_note(skill))): "yellow" if is_skill_notice(skill) else ""
        for skill in page.skills
    }
    produced = page.view.files.produced
    files = sorted({*produced, *state.artifacts}, key=lambda name: (not name.startswith("deliver"), name))
    sizes = {
        name: f"{format_count(record.size)}B" if record.size >= 1000 else f"{record.size} B"
        for name, record in produced.items()
    }
    sections: dict[str, Sequence[RenderableType]] = {
        translate("show.skills", "skills"): [_indent(Text(line, style=style)) for line, style in notes.items()],
        translate("show.steps", "steps"): _list_steps(page, console),
        translate("show.files", "files"): [
            justify_line(console, Text(f"  {readable_line(name)}"), Text(sizes.get(name, ""), "dim")) for name in files
        ],
        translate("show.rules", "rules added"): [_indent(Text(line)) for line in describe_added_rules(page.rules)],
        translate("show.waiting", "waiting for"): _list_waits(page, command),
        translate("show.next", "next"): [labeled_table(_next_commands(page, command), indent=2, width=_LABEL)],
    }
    for heading, lines in sections.items():
        if lines:
            console.print(Text(heading, style="bold"))
        for line in lines:
            console.print(line)


def _list_facts(page: Page) -> dict[str, str]:
    state = page.view.state
    took = format_duration(milliseconds_between(state.started_at, state.completed_at or state.updated_at))
    usage = [
        translate("show.turns", "{count, plural, one {# turn} other {# turns}}", count=state.turns),
        translate("show.input", "{count} tokens in", count=format_count(state.input_tokens)),
        translate("show.output", "{count} out", count=format_count(state.output_tokens)),
        *(
            [translate("show.subagents", "{count} by sub-agents", count=format_count(state.child_tokens))]
            if state.child_tokens
            else []
        ),
        *([format_cost(state.total_cost_usd)] if state.turns else []),
    ]
    session = translate("show.session_task", "{session} · task {task}", session=state.session_id, task=state.task_id)
    model = translate("show.model_profile", "{model} · profile {profile}", model=state.model, profile=state.profile_id)
    started = translate("show.started_at", "{time} · took {took}", time=local_time(state.started_at), took=took)
    facts = {
        translate("show.task", "task"): make_title(page.prompt),
        translate("show.reason", "reason"): state.failure_reason or "",
        translate("show.directory", "directory"): display_path(page.root),
        translate("show.session", "session"): session if state.session_id else "",
        translate("show.model", "model"): model if state.model else "",
        translate("show.workspace", "workspace"): _describe_workspace(state.workspace_mode or ""),
        translate("show.started", "started"): started if state.started_at else translate("show.not_yet", "not yet"),
        translate("show.used", "used"): " · ".join(usage),
    }
    return {label: readable_line(text) for label, text in facts.items() if text}


def _list_steps(page: Page, console: Console) -> list[Text]:
    steps = page.steps.all
    left_out = len(steps) - MAX_STEPS
    number = translate("show.earlier", "{count, plural, one {# earlier step} other {# earlier steps}}", count=left_out)
    earlier = [Text(f"     {number}", style="dim")] if left_out > 0 else []
    is_running = page.view.state.status is RunStatus.RUNNING
    under_way = translate("step.running", "running") if is_running else translate("step.no_result", "no result")
    lines = (line for step in steps[-MAX_STEPS:] for line in step_lines(console, step, running_text=under_way))
    return [*earlier, *lines]


def _list_waits(page: Page, command: CommandFor) -> list[RenderableType]:
    waits = list_waits(page.view.state, page.view.pending, command, page.requests)
    lines = [line for wait in waits for line in wait_lines(wait, indent=2, width=_LABEL)]
    if page.messages:
        unread = "{count, plural, one {# message} other {# messages}} will be read when the run resumes"
        lines.append(_indent(Text(translate("show.unread", unread, count=page.messages))))
    return lines


def _indent(text: Text) -> Padding:
    return Padding(text, (0, 0, 0, 2), expand=False)


def _describe_workspace(mode: str) -> str:
    match mode:
        case "shared":
            return translate("show.workspace_shared", "shared: tools work in your files")
        case "isolated":
            return translate("show.workspace_isolated", "isolated: tools work in the run's own directory")
        case _:
            return mode


def _next_commands(page: Page, command: CommandFor) -> dict[str, str]:
    """Return the next commands by label."""
    state = page.view.state
    if not state.open:
        return {
            translate("next.read", "read"): command("runs transcript"),
            translate("next.verify", "verify"): command("runs verify"),
            translate("next.export", "export"): command("runs export"),
        }
    tell = {translate("next.send", "send"): f"{command('runs send')} TEXT"}
    end = {translate("next.cancel", "cancel"): command("runs cancel")}
    if state.status in (RunStatus.PENDING, RunStatus.RUNNING):
        resume = translate("next.resume_idle", "{command} (if no process executes it)", command=command("runs resume"))
        follow = {translate("next.follow", "follow"): f"{command('runs tail')} --follow"}
        return {**follow, **tell, translate("next.resume", "go on"): resume, **end}
    return {translate("next.read", "read"): command("runs transcript"), **tell, **end}
