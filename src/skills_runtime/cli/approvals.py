"""The `approvals` commands: list, show, approve and deny calls that need an approval."""

import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, cast

import msgspec
import typer
from rich.console import JustifyMethod, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from skills_runtime.cli.options import (
    ApprovalReference,
    Assignments,
    ConfigFiles,
    ConfigOptions,
    EventsAsJson,
    Json,
    NoColor,
    Quiet,
    ViewOptions,
    WorkspaceRoot,
    check_text,
    display_path,
    login_name,
    open_service,
    read_text,
)
from skills_runtime.cli.output import (
    APPROVAL_PREFIX,
    format_age,
    format_count,
    labeled_table,
    list_table,
    local_time,
    milliseconds_between,
    plural,
    short_approval_id,
    short_id,
    stderr_console,
    stdout_console,
    truncate,
    write_json,
    write_receipt,
)
from skills_runtime.cli.program import ExampleCommand, Program, UsageError, create_app
from skills_runtime.cli.run_text import CommandFor, build_decision_commands
from skills_runtime.clock import SystemClock
from skills_runtime.errors import ApprovalStale, LogEnded, LogLocked, SkillsRuntimeError, ValidationFailed
from skills_runtime.events import ApprovalDecided
from skills_runtime.ports import ApprovalRequest, FileTouch, InboxMessage, Intent
from skills_runtime.text import readable, readable_line

if TYPE_CHECKING:
    from skills_runtime.engine import OpenApproval, RunService
    from skills_runtime.safety.policy import Rule

app = create_app(
    "approvals",
    "Approve or deny tool calls, from any terminal.",
    "approvals list",
    "approvals approve 3f2a",
)

NoResume = Annotated[bool, typer.Option("--no-resume", help="Store the decision without resuming the run.")]

_COLUMNS: dict[str, JustifyMethod] = {
    "id": "left", "run": "left", "tool": "left", "call": "left", "risk": "left", "since": "right", "expires": "right",
}  # fmt: skip
_RUN_CELLS = 16
_RISK_STYLES = {"high": "bold red", "medium": "bold"}
APPLY_TIMEOUT_SECONDS = 2.0
"""How long to wait for the process that owns the run to apply the decision."""
_POLL_SECONDS = 0.1
DECISION_TEXTS: Mapping[str, str] = {
    "approved": "approved",
    "approved_for_session": "approved for the session",
    "denied": "denied",
    "abort": "denied, and the run is cancelled",
}
_DIFF_HEADINGS = ("--- ", "+++ ")
_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}
SandboxFacts = Mapping[str, Any]
NO_SANDBOX = "none: the command runs with all your permissions"
MAX_PATHS = 4
"""Paths shown of each list, unless everything is shown."""
_ACCESS = {"writable": "writes", "readable": "reads", "protected": "protected", "hidden": "hidden"}
MAX_LABEL_CELLS = 24
MAX_LINES = 20
MAX_CHARS = 2000
_LABEL = 9
_DIFF_ARGUMENTS = {"file_write": "content", "apply_patch": "input"}
"""Arguments, by tool, that are shown as a diff instead."""


@app.command("list", cls=ExampleCommand, epilog="approvals list\napprovals list --json")
def list_approvals(
    context: typer.Context,
    *,
    as_json: Json = False,
    no_color: NoColor = False,
    workspace_root: WorkspaceRoot = ".",
) -> int:
    """List pending approvals, oldest first."""
    with open_service(ConfigOptions(workspace_root)) as service:
        requests = open_requests(service)
    if as_json:
        for request in requests:
            write_json(_build_document(request), pretty=False)
        return 0
    hints, program = stderr_console(no_color=no_color), context.obj.name
    if not requests:
        hints.print(Text("no pending approvals"))
        return 0
    console, now = stdout_console(no_color=no_color), SystemClock().now()
    lines = [_build_row(approval, now, is_cut=console.is_terminal) for approval in requests]
    narrow = ("id", "tool", "call")
    console.print(list_table(console, lines, _COLUMNS, narrow_columns=narrow, flexible="call", min_width=12))
    decision_count = sum(item.sent_decision is not None for item in requests)
    more = f"; {plural(decision_count, 'decision')} waiting for `{program} runs resume RUN`" if decision_count else ""
    hints.print(Text(f"`{program} approvals show ID` shows the details{more}", style="dim"))
    return 0


def _build_row(approval: "OpenApproval", now: str, *, is_cut: bool) -> dict[str, Text]:
    pending, run = approval.pending, short_id(approval.run_id)
    level = pending.risk.get("level", "")
    decision = str(approval.sent_decision.get("decision")) if approval.sent_decision is not None else ""
    return {
        "id": Text(short_approval_id(approval.id), style="cyan"),
        "run": Text(truncate(run, _RUN_CELLS) if is_cut else run),
        "tool": Text(readable_line(pending.tool)),
        "call": Text(readable_line(pending.summary.removeprefix(f"{pending.tool} "))),
        "risk": Text(readable_line(level) or "-", style=_RISK_STYLES.get(level, "dim")),
        "since": Text(format_age(milliseconds_between(pending.since, now)), style="dim"),
        "expires": Text(readable_line(decision) or _format_time_left(pending.expires_at, now), style="dim"),
    }


def _format_time_left(expires_at: str, now: str) -> str:
    if not expires_at:
        return "never"
    return "expired" if now > expires_at else f"in {format_age(milliseconds_between(now, expires_at))}"


def _build_document(approval: "OpenApproval") -> dict[str, Any]:
    pending = approval.pending
    return {
        "approval_id": approval.id,
        "run_id": approval.run_id,
        "call_id": pending.call_id,
        "tool": pending.tool,
        "summary": pending.summary,
        "risk": pending.risk,
        "rule": pending.rule,
        "since": pending.since,
        "expires_at": pending.expires_at or None,
        "approval_key": pending.approval_key,
        "decided": approval.sent_decision.get("decision") if approval.sent_decision is not None else None,
        "path": str(approval.paths.root),
    }


@app.command("show", cls=ExampleCommand, epilog="approvals show 3f2a\napprovals show demo-001 --json")
def show_approval(
    context: typer.Context,
    *,
    approval: ApprovalReference,
    as_json: Json = False,
    no_color: NoColor = False,
    workspace_root: WorkspaceRoot = ".",
) -> int:
    """Show the details of a pending approval."""
    with open_service(ConfigOptions(workspace_root)) as service:
        request = find_request(service, approval)
    command = CommandFor(context.obj.name, short_id(request.run_id))
    commands = {"go on": command("runs resume")}
    if request.sent_decision is None:
        commands = {
            label: line for label, line in build_decision_commands(request.id, command).items() if label != "look"
        }
    if as_json:
        write_json(_build_document(request) | {"request": request.request(), "commands": commands})
        return 0
    console = stdout_console(no_color=no_color)
    for line in _render_page(request, commands):
        console.print(line)
    return 0


def _render_page(approval: "OpenApproval", commands: Mapping[str, str]) -> Iterator[RenderableType]:
    """Render a request with all its facts and the commands that decide it."""
    request, pending, now = approval.request(), approval.pending, SystemClock().now()
    expires = (
        f"{local_time(pending.expires_at)} · {_format_time_left(pending.expires_at, now)}" if pending.expires_at else ""
    )
    yield title_line(request, indent=0)
    yield from call_lines(request, indent=2, full=True).lines
    yield fact_lines(request, indent=2, full=True)
    facts = {
        "run": f"{approval.run_id} · {display_path(approval.paths.root)}",
        "since": f"{local_time(pending.since)} · {format_age(milliseconds_between(pending.since, now))} ago",
        "expires": expires,
        "id": approval.id,
    }
    yield labeled_table({label: readable_line(text) for label, text in facts.items() if text}, indent=2, width=_LABEL)
    if approval.sent_decision is not None:
        yield Padding(
            Text(f"decided: {readable_line(str(approval.sent_decision.get('decision')))}", style="bold"), (0, 0, 0, 2)
        )
    yield Text("next", style="bold")
    yield labeled_table(commands, indent=2, width=_LABEL)


@app.command("approve", cls=ExampleCommand, epilog="approvals approve 3f2a\napprovals approve 3f2a --rule run")
def approve(
    context: typer.Context,
    *,
    session: Annotated[
        bool, typer.Option("--session", help="Also allow this exact call for the rest of the session.")
    ] = False,
    rule: Annotated[
        Literal["run", "skill", "user"] | None,
        typer.Option(
            "--rule", help="Also add a rule that allows similar calls in this run, for this skill, or for you."
        ),
    ] = None,
    edit: Annotated[
        str | None,
        typer.Option(
            "--edit", metavar="FILE", help="Run the call with the arguments in this JSON file; - reads stdin."
        ),
    ] = None,
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="A note to record with the decision.")] = "",
    as_json: EventsAsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
    approval: ApprovalReference,
    no_resume: NoResume = False,
) -> int:
    """Approve a call and resume its run."""
    # The engine is slow to import, and help needs none of it.
    from skills_runtime.engine import ApprovalAnswer, build_rule

    options, view = ConfigOptions(workspace_root, config, assignments), ViewOptions(as_json, quiet, no_color)
    if (session, rule is not None, edit is not None).count(True) > 1:
        raise UsageError("`--session`, `--rule` and `--edit` exclude each other")
    answer = ApprovalAnswer(
        decision="approved_for_session" if session else "approved",
        decided_by=login_name(),
        note=check_text(note, "--note"),
        arguments=parse_arguments(read_text(edit, option="--edit")) if edit is not None else None,
        rule=rule,
    )
    with open_service(options) as service:
        open_request = find_undecided(service, approval, context.obj.name)
        if rule is not None:
            granted = build_rule(open_request.request(), rule)
            file = "" if rule == "run" else f", saved in {display_path(service.rule_file)}"
            console, text = (
                stderr_console(no_color=no_color),
                readable_line(f"allows {describe_rule(granted, rule)}{file}"),
            )
            console.print(Text.assemble(("the rule ", "bold"), text))
            console.print(rule_paragraph(granted, indent=2))
        message = service.decide(open_request, answer)
    return resume_after_decision(open_request, message, options, view, context.obj, resume=not no_resume)


@app.command(
    "deny", cls=ExampleCommand, epilog='approvals deny 3f2a --reason "Use the mirror"\napprovals deny 3f2a --abort'
)
def deny(
    context: typer.Context,
    *,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="The reason, shown to the model.")] = "",
    abort: Annotated[bool, typer.Option("--abort", help="Also cancel the run.")] = False,
    as_json: EventsAsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
    approval: ApprovalReference,
    no_resume: NoResume = False,
) -> int:
    """Deny a call and resume its run, or end it."""
    from skills_runtime.engine import ApprovalAnswer  # slow, and help needs none of it

    options, view = ConfigOptions(workspace_root, config, assignments), ViewOptions(as_json, quiet, no_color)
    answer = ApprovalAnswer(
        decision="abort" if abort else "denied", decided_by=login_name(), note=check_text(reason, "--reason")
    )
    with open_service(options) as service:
        open_request = find_undecided(service, approval, context.obj.name)
        message = service.decide(open_request, answer)
    return resume_after_decision(open_request, message, options, view, context.obj, resume=not no_resume)


def open_requests(service: "RunService") -> "list[OpenApproval]":
    """Return the open requests of all indexed runs and of this workspace, oldest first."""
    service.refresh()
    return service.approvals()


def find_request(service: "RunService", text: str) -> "OpenApproval":
    """Find an open request by id, by a prefix of it, or by a run that has only one."""
    approvals = open_requests(service)
    matches = [
        approval for approval in approvals if text and approval.id.startswith((text, f"{APPROVAL_PREFIX}{text}"))
    ]
    exact = [approval for approval in matches if text in (approval.id, approval.id.removeprefix(APPROVAL_PREFIX))]
    if len(matches) == 1 or len(exact) == 1:
        return (exact or matches)[0]
    if matches:
        if len({approval.id for approval in matches}) == 1:  # a fork repeats the requests of its parent
            runs = ", ".join(f"`{short_id(approval.run_id)}`" for approval in matches)
            raise ValidationFailed(
                f"several runs have the request `{text}`: {runs}", hint="name the run instead of the request"
            )
        names = ", ".join(f"`{short_approval_id(approval.id)}`" for approval in matches[:10])
        raise ValidationFailed(f"several requests start with `{text}`: {names}", hint="give more characters of the id")
    run_approvals: list[OpenApproval] = []
    with suppress(SkillsRuntimeError, OSError):
        run_approvals = service.approvals_of(text)
    if not run_approvals:
        raise ApprovalStale(f"no open request matches `{text}`; it may already be decided")
    if len(run_approvals) > 1:
        names = ", ".join(f"`{short_approval_id(approval.id)}`" for approval in run_approvals)
        raise ValidationFailed(f"the run `{text}` has several open requests", hint=f"name one: {names}")
    return run_approvals[0]


def find_undecided(service: "RunService", reference: str, program: str) -> "OpenApproval":
    """Find an open request; raise `ApprovalStale` if it is already decided."""
    approval = find_request(service, reference)
    if approval.sent_decision is not None:
        resume = CommandFor(program, short_id(approval.run_id))("runs resume")
        by, decision = str(approval.sent_decision.get("decided_by") or ""), str(approval.sent_decision.get("decision"))
        raise _already_decided(approval, decision, by, hint=f"`{resume}` resumes the run")
    return approval


def _already_decided(approval: "OpenApproval", decision: str, by: str, hint: str = "") -> ApprovalStale:
    suffix = f" by {by}" if by else ""
    outcome = DECISION_TEXTS.get(decision, "decided")
    return ApprovalStale(f"`{short_approval_id(approval.id)}` is already decided: {outcome}{suffix}", hint=hint)


def resume_after_decision(
    approval: "OpenApproval",
    message: InboxMessage,
    options: ConfigOptions,
    view: ViewOptions,
    program: Program,
    *,
    resume: bool = True,
) -> int:
    """Resume the run in this process, unless `--no-resume` was given or another process has it."""
    from skills_runtime.cli.live import resume_run  # slow, and help needs none of it

    with open_service(options) as service:
        run = service.find(service.find_run_to_continue(str(approval.paths.root)))
    summary = f"{DECISION_TEXTS[message.body['decision']]}: {approval.pending.summary or approval.pending.tool}"
    if not resume:
        following = CommandFor(program.name, short_id(run.root.name))("runs resume")
        return write_receipt(message, f"{summary}; applied when the run resumes", following, as_json=view.json)
    if not (view.json or view.quiet):
        sys.stderr.write(f"{readable_line(summary)}\n")
        sys.stderr.flush()
    verb = "sent to"
    for _ in range(2):  # the process that owns the run may be about to release it
        try:
            return resume_run(str(run.root), options, view, program).exit_code
        except (LogLocked, LogEnded):
            if _wait_until_applied(approval, message):
                verb = "applied by"
                break
    text = f"the decision on `{short_approval_id(approval.id)}` was {verb} the process that owns the run"
    return write_receipt(message, text, as_json=view.json)


def _wait_until_applied(approval: "OpenApproval", message: InboxMessage) -> bool:
    """Wait until another process has applied the decision; raise if a different one came first."""
    from skills_runtime.engine import RecordedRun  # slow, and help needs none of it

    run, deadline = RecordedRun(approval.paths), time.monotonic() + APPLY_TIMEOUT_SECONDS
    while True:
        view = run.view()
        if not view.state.open or approval.id not in view.pending.approvals.open:
            # A decision at the terminal of the run may have come first.
            for event in run.events(from_seq=approval.pending.seq):
                payload = event.payload
                if (
                    isinstance(payload, ApprovalDecided)
                    and payload.approval_id == approval.id
                    and payload.message_id != message.id
                ):
                    raise _already_decided(approval, payload.decision, payload.decided_by)
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)


def parse_arguments(text: str) -> dict[str, Any]:
    """Parse the arguments of a call, given as a JSON object."""
    hint = 'write an object, such as {"path": "notes.md"}'
    try:
        arguments: Any = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise ValidationFailed(f"the arguments are not valid JSON: {error}", hint=hint) from None
    if not isinstance(arguments, dict):
        raise ValidationFailed("the arguments are not a JSON object", hint=hint)
    return cast("dict[str, Any]", arguments)


# Rendering a request: the exact call, its file changes, the sandbox, and the rule it could add


class TruncatedLines(NamedTuple):
    """Rendered lines, and how many were left out."""

    lines: list[RenderableType]
    left_out: int = 0


def title_line(request: ApprovalRequest, *, indent: int) -> Text:
    """Render the tool that needs an approval, and the risk."""
    level = request.risk.get("level", "")
    style = _RISK_STYLES.get(level)
    risk = [" · ", (f"{readable_line(level)} risk", style)] if style else []
    return Text.assemble(" " * indent, (readable_line(request.tool), "bold"), " needs your approval", *risk)


def call_lines(request: ApprovalRequest, *, indent: int, full: bool = False) -> TruncatedLines:
    """Show exactly what a call would do: the command, the file changes and the other arguments."""
    intent, lines = request.intent, list[RenderableType]()
    command = _format_command(intent)
    if command is not None:
        # Never truncated: the end of a command may be what matters. Each line gets a prompt, so that none can imitate
        # our own output.
        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.add_column(no_wrap=True, style="dim")
        grid.add_column(overflow="fold")
        for number, line in enumerate(command.split("\n")):
            grid.add_row(Text(">" if number else "$"), Text(readable(line), style="bold"))
        lines.append(Padding(grid, (0, 0, 0, indent), expand=False))
    changes = change_lines(intent.files, indent=indent, limit=None if full else MAX_LINES)
    arguments, left_out = _list_arguments(request, full=full)
    lines += changes.lines
    if arguments:
        lines.append(labeled_table(arguments, indent=indent, width=_LABEL))
    return TruncatedLines(lines, changes.left_out + left_out)


def _format_command(intent: Intent) -> str | None:
    """Return the command line a call would run, quoted for a shell."""
    return intent.line if intent.line is not None else shlex.join(intent.argv) if intent.argv else None


def change_lines(files: tuple[FileTouch, ...], *, indent: int, limit: int | None = None) -> TruncatedLines:
    """Render the diff of each file, at most `limit` lines in total."""
    lines: list[RenderableType] = []
    left_out, remaining = 0, limit
    for file in files:
        changes = file.diff.split("\n") if file.diff else []
        marks = zip(changes, _DIFF_HEADINGS, strict=False)
        if len(changes) > 1 and all(line.startswith(mark) for line, mark in marks):  # our heading has the names
            changes = changes[2:]
        visible = changes if remaining is None else changes[:remaining]
        remaining = None if remaining is None else remaining - len(visible)
        left_out += len(changes) - len(visible)
        come, go = (sum(line.startswith(mark) for line in changes) for mark in "+-")
        counts = [(f"  +{come}", "green")] if come else []
        counts += [(f"  -{go}", "red")] if go else []
        lines.append(_indent(Text.assemble((file.touch, "bold"), f" {readable_line(file.path)}", *counts), indent))
        for line in visible:
            style = _DIFF_STYLES.get(line[:1], "")
            lines.append(_indent(Text(readable(line), style=style, overflow="fold"), indent + 2))
    if left_out:
        lines.append(_indent(Text(f"… {plural(left_out, 'more line')}", style="dim"), indent + 2))
    return TruncatedLines(lines, left_out)


def _indent(text: Text, indent: int) -> RenderableType:
    return Padding(text, (0, 0, 0, indent), expand=False)


def _list_arguments(request: ApprovalRequest, *, full: bool) -> tuple[dict[str, str], int]:
    """List the arguments that are not shown elsewhere, and count the characters left out."""
    facts: dict[str, str] = {}
    left_out = 0
    for name, value in request.details.items():
        if _is_shown(name, value, request):
            continue
        text, omitted = _truncate_text(
            readable(value if isinstance(value, str) else msgspec.json.encode(value).decode()), full=full
        )
        left_out += omitted
        # The `=` separates arguments, whose names the model chooses, from our own labels.
        label = f"{truncate(readable_line(name), MAX_LABEL_CELLS)} ="
        while label in facts:  # two names that look alike must not hide an argument
            label = f"{label[:-2]}' ="
        facts[label] = f"{text}\n{_describe_omitted(omitted)}" if omitted else text
    return facts, left_out


def _is_shown(name: str, value: Any, request: ApprovalRequest) -> bool:
    """Return whether an argument is already shown as the command, a diff or a fact."""
    intent = request.intent
    if _DIFF_ARGUMENTS.get(request.tool) == name and any(file.diff for file in intent.files):
        return True
    shown_values: list[Any] = [
        intent.line,
        list(intent.argv),
        intent.typed,
        dict(intent.environment),
        intent.justification,
    ]
    shown_values += [file.path for file in intent.files]
    shown_values += [intent.directory] if intent.directory != "." else []
    return any(
        shown_value and type(value) is type(shown_value) and value == shown_value for shown_value in shown_values
    )


def _truncate_text(text: str, *, full: bool) -> tuple[str, int]:
    visible = text if full else "\n".join(text[:MAX_CHARS].split("\n")[:MAX_LINES])
    return visible, len(text) - len(visible)


def _describe_omitted(characters: int) -> str:
    return f"… {format_count(characters)} more characters"


def fact_lines(request: ApprovalRequest, *, indent: int, full: bool = False) -> RenderableType:
    """Render the surroundings, risk, rule and sandbox of a call."""
    intent, risk = request.intent, request.risk
    surroundings = {
        "types": "" if intent.typed is None else msgspec.json.encode(intent.typed).decode(),
        "workspace": request.workspace,
        "directory": "" if intent.directory == "." or _format_command(intent) is None else intent.directory,
        "sets": " ".join(f"{name}={shlex.quote(value)}" for name, value in intent.environment.items()),
        "script": ", ".join(f"{name} (sha256 {digest[:16]}…)" for name, digest in intent.digests.items()),
        "hosts": ", ".join(intent.hosts),
        "skill": intent.skill,
    }
    part = f": {risk['part']}" if risk.get("part") else ""
    reasons = {
        "risk": f"{risk.get('level', '')}, {risk['reason']}{part}" if risk.get("reason") else "",
        "asked by": request.rule + (f": {request.why}" if request.why else ""),
        "wants": "more access than the sandbox allows" if intent.escalated else "",
        "reason": f"the model says: {intent.justification}" if intent.justification else "",
    }
    facts = {label: readable(text) for label, text in surroundings.items()}
    facts |= {label: readable_line(text) for label, text in reasons.items()}
    facts |= sandbox_details(intent.fence) if full else sandbox_summary(intent.fence)
    # Typed input and variables are part of the call, so they are never truncated.
    visible = {
        label: text if full or label in ("types", "sets") else truncate(text, MAX_CHARS)
        for label, text in facts.items()
        if text
    }
    return labeled_table(visible, indent=indent, width=_LABEL)


def sandbox_summary(fence: SandboxFacts) -> dict[str, str]:
    """Summarize the sandbox of a call; empty for calls that start no process."""
    if not fence:
        return {}
    if not fence.get("active"):
        return {"sandbox": NO_SANDBOX}
    network, gaps = _get_text(fence, "network"), [gap.partition(":")[0] for gap in _get_texts(fence, "gaps")]
    hosts = _join_names(_list_allowed_hosts(fence), MAX_PATHS, 0)
    parts = [
        _get_text(fence, "adapter"),
        _get_text(fence, "profile"),
        f"network {network}" + (f" ({hosts})" if hosts else "") if network else "",
        f"{plural(len(gaps), 'gap')}: {', '.join(gaps)}" if gaps else "",
    ]
    return {"sandbox": readable_line(" · ".join(filter(None, parts)))} | _list_access(fence, MAX_PATHS)


def sandbox_details(fence: SandboxFacts) -> dict[str, str]:
    """List all facts about the sandbox of a call."""
    facts = {
        "reaches": ", ".join(_list_allowed_hosts(fence)),
        "never": ", ".join(_get_texts(_get_mapping(fence, "egress"), "deny")),
        "runs": shlex.join(_get_texts(fence, "argv")),
        "promises": ", ".join(_get_texts(fence, "promises")),
        "gaps": "\n".join(map(readable_line, _get_texts(fence, "gaps"))),
        "policy": _get_text(fence, "policy"),
    }
    facts_shown = sandbox_summary(fence) | _list_access(fence)
    return facts_shown | {label: text if label == "gaps" else readable_line(text) for label, text in facts.items()}


def _list_access(fence: SandboxFacts, most: int | None = None) -> dict[str, str]:
    """List the paths a call can write, read or not reach, at most `most` of each kind."""
    files = _get_mapping(fence, "file_access")
    if not files:
        return {}
    workspace, left_out = _get_text(files, "workspace"), _get_mapping(files, "left_out")

    def short(path: str) -> str:
        if path == workspace:
            return "the workspace"
        inside = path.removeprefix(f"{workspace}/")
        return readable_line(f"./{inside}" if inside != path else path)

    access: dict[str, str] = {}
    for name, label in _ACCESS.items():
        paths = [short(path) for path in _get_texts(files, name)]
        paths += [f"its own {files['temporary']}"] if name == "writable" and files.get("temporary") else []
        paths += ["system programs"] if name == "readable" and _get_texts(files, "system") else []
        access[label] = _join_names(paths, most, cast("int", left_out.get(name, 0)))
    return {label: text for label, text in access.items() if text}


def _list_allowed_hosts(fence: SandboxFacts) -> list[str]:
    egress = _get_mapping(fence, "egress")
    return [*_get_texts(egress, "allow"), *_get_texts(egress, "allow_private")]


def _join_names(names: list[str], most: int | None, left_out: int) -> str:
    omitted = left_out + (max(0, len(names) - most) if most is not None else 0)
    return ", ".join(names[:most]) + (f" and {omitted} more" if omitted else "")


def _get_mapping(fence: SandboxFacts, name: str) -> SandboxFacts:
    value: Any = fence.get(name)
    return cast("SandboxFacts", value) if isinstance(value, Mapping) else {}


def _get_text(fence: SandboxFacts, name: str) -> str:
    value = fence.get(name)
    return value if isinstance(value, str) else ""


def _get_texts(fence: SandboxFacts, name: str) -> list[str]:
    value: Any = fence.get(name)
    return [str(item) for item in cast("list[object]", value)] if isinstance(value, list | tuple) else []


def describe_rule(rule: "Rule", scope: str) -> str:
    """Describe the calls that a rule allows, and its scope."""
    from skills_runtime.safety.policy import END  # slow, and help needs none of it

    exact = all(prefix[-1:] == (END,) for prefix in rule.command)
    commands = _quote_names(shlex.join(argument for argument in prefix if argument != END) for prefix in rule.command)
    match_text = "are exactly" if exact else "start with"
    parts = [
        f"{_quote_names(rule.tool)} commands that {match_text} {commands}"
        if rule.command
        else f"calls of {_quote_names(rule.tool)}",
        f"on {_quote_names(rule.path)}" if rule.path else "",
        f"to {_quote_names(rule.host)}" if rule.host else "",
        f"by the skill {_quote_names(rule.skill)}" if rule.skill else "",
        "in this run" if scope == "run" else "in all your runs",
    ]
    return readable_line(" ".join(filter(None, parts)))


def _quote_names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def rule_paragraph(rule: "Rule", *, indent: int) -> RenderableType:
    """Render a rule as it is written in a rule file."""
    from skills_runtime.safety.policy import render_rule  # slow, and help needs none of it

    return _indent(Text(readable(render_rule(rule).rstrip("\n")), overflow="fold"), indent)
