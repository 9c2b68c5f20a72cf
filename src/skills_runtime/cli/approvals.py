"""The `approvals` commands: list, show, approve and deny calls that need an approval."""

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import msgspec
import typer
from rich.console import JustifyMethod, RenderableType
from rich.padding import Padding
from rich.text import Text

from skills_runtime.cli.approval_text import (
    LABEL,
    RISK_STYLES,
    call_lines,
    describe_level,
    describe_rule,
    fact_lines,
    rule_paragraph,
    title_line,
)
from skills_runtime.cli.language import translate, translate_label
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
    counted,
    format_age,
    labeled_table,
    list_table,
    local_time,
    milliseconds_between,
    short_approval_id,
    short_id,
    stderr_console,
    stdout_console,
    truncate,
    write_json,
    write_receipt,
)
from skills_runtime.cli.program import ExampleCommand, Program, UsageError, create_app
from skills_runtime.cli.run_text import DECISIONS, CommandFor, build_decision_commands, label_commands
from skills_runtime.clock import SystemClock
from skills_runtime.errors import ApprovalStale, LogEnded, LogLocked, SkillsRuntimeError, ValidationFailed
from skills_runtime.events import ApprovalDecided
from skills_runtime.ports import InboxMessage
from skills_runtime.text import readable_line

if TYPE_CHECKING:
    from skills_runtime.engine import OpenApproval, RunService

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
APPLY_TIMEOUT_SECONDS = 2.0
"""How long to wait for the process that owns the run to apply the decision."""
_POLL_SECONDS = 0.1
_DECISION_TEXTS: Mapping[str, str] = {
    "approved": "approved",
    "approved_for_session": "approved for the session",
    "denied": "denied",
    "abort": "denied, and the run is cancelled",
}


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
        hints.print(Text(translate("approvals.none", "no pending approvals")))
        return 0
    console, now = stdout_console(no_color=no_color), SystemClock().now()
    lines = [_build_row(approval, now, is_cut=console.is_terminal) for approval in requests]
    narrow = ("id", "tool", "call")
    console.print(list_table(console, lines, _COLUMNS, narrow_columns=narrow, flexible="call", min_width=12))
    decision_count = sum(item.sent_decision is not None for item in requests)
    text = "next: `{program} approvals show ID`, then `approvals approve ID` or `approvals deny ID`"
    following = translate("approvals.next", text, program=program)
    if decision_count:
        more = "; {decisions} waiting for `{program} runs resume RUN`"
        decisions = counted(decision_count, "decision")
        following += translate("approvals.decided", more, decisions=decisions, program=program)
    hints.print(Text(following, style="dim"))
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
        "risk": Text(readable_line(describe_level(level)) or "-", style=RISK_STYLES.get(level, "dim")),
        "since": Text(format_age(milliseconds_between(pending.since, now)), style="dim"),
        "expires": Text(
            readable_line(_describe_sent(decision)) or _format_time_left(pending.expires_at, now), style="dim"
        ),
    }


def _describe_sent(decision: str) -> str:
    """Describe a decision that waits for its run; in English, by the word of the protocol."""
    return translate(f"decision.{decision}", decision) if decision in DECISIONS else decision


def _format_time_left(expires_at: str, now: str) -> str:
    if not expires_at:
        return translate("approvals.never", "never")
    if now > expires_at:
        return translate("approvals.expired", "expired")
    return translate("approvals.in", "in {time}", time=format_age(milliseconds_between(now, expires_at)))


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
    age = format_age(milliseconds_between(pending.since, now))
    yield title_line(request, indent=0)
    yield from call_lines(request, indent=2, full=True).lines
    yield fact_lines(request, indent=2)
    facts = {
        "run": f"{approval.run_id} · {display_path(approval.paths.root)}",
        "since": f"{local_time(pending.since)} · {translate('approvals.ago', '{time} ago', time=age)}",
        "expires": expires,
        "id": approval.id,
    }
    labels = {translate_label(label): readable_line(text) for label, text in facts.items() if text}
    yield labeled_table(labels, indent=2, width=LABEL)
    if approval.sent_decision is not None:
        decision = readable_line(_describe_sent(str(approval.sent_decision.get("decision"))))
        decided = translate("approvals.decision", "decided: {decision}", decision=decision)
        yield Padding(Text(decided, style="bold"), (0, 0, 0, 2))
    yield Text(translate("show.next", "next"), style="bold")
    yield labeled_table(label_commands(commands), indent=2, width=LABEL)


@app.command("approve", cls=ExampleCommand, epilog="approvals approve 3f2a\napprovals approve 3f2a --scope folder")
def approve(
    context: typer.Context,
    *,
    scope: Annotated[
        Literal["once", "session", "folder", "always", "skill"] | None,
        typer.Option(
            "--scope",
            help="How far it reaches: this call, this exact call in the session, or such calls in this folder, always, "
            "or by this skill. The last three print and add a rule.",
        ),
    ] = None,
    session: Annotated[bool, typer.Option("--session", hidden=True, help="The same as `--scope session`.")] = False,
    rule: Annotated[
        Literal["run", "folder", "skill", "user"] | None,
        typer.Option("--rule", hidden=True, help="Also add a rule for this run, folder or skill, or for you."),
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
    from skills_runtime.engine import SCOPE_DECISIONS, ApprovalAnswer, build_rule

    options, view = ConfigOptions(workspace_root, config, assignments), ViewOptions(as_json, quiet, no_color)
    if (session, scope not in (None, "once"), rule is not None, edit is not None).count(True) > 1:
        raise UsageError("`--scope` and `--edit` exclude each other")
    decision, scope_rule = SCOPE_DECISIONS[scope or ("session" if session else "once")]
    rule = rule or scope_rule
    answer = ApprovalAnswer(
        decision=decision,
        decided_by=login_name(),
        note=check_text(note, "--note"),
        arguments=parse_arguments(read_text(edit, option="--edit")) if edit is not None else None,
        rule=rule,
    )
    with open_service(options) as service:
        open_request = find_undecided(service, approval, context.obj.name)
        if rule is not None:
            granted = build_rule(open_request.request(), rule)
            console = stderr_console(no_color=no_color)
            text = translate("approvals.rule_allows", "allows {what}", what=describe_rule(granted, rule))
            if rule != "run":
                file = display_path(service.rule_file)
                text += translate("approvals.rule_file", "; delete it from {file} to be asked again", file=file)
            console.print(Text.assemble((translate("approvals.rule", "the rule "), "bold"), readable_line(text)))
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
    outcome = _DECISION_TEXTS.get(decision, "decided")
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
    summary = _summarize(str(message.body["decision"]), approval.pending.summary or approval.pending.tool)
    if not resume:
        following = CommandFor(program.name, short_id(run.root.name))("runs resume")
        later = translate("approvals.later", "{summary}; applied when the run resumes", summary=summary)
        return write_receipt(message, later, following, as_json=view.json)
    if not (view.json or view.quiet):
        sys.stderr.write(f"{readable_line(summary)}\n")
        sys.stderr.flush()
    outcome = "sent"
    for _ in range(2):  # the process that owns the run may be about to release it
        try:
            return resume_run(str(run.root), options, view, program).exit_code
        except (LogLocked, LogEnded):
            if _wait_until_applied(approval, message):
                outcome = "applied"
                break
    sent = (
        "the decision on `{id}` was {outcome, select, sent {sent to} other {applied by}} the process that owns the run"
    )
    text = translate("approvals.sent", sent, id=short_approval_id(approval.id), outcome=outcome)
    return write_receipt(message, text, as_json=view.json)


def _summarize(decision: str, call: str) -> str:
    """Describe a decision with its call."""
    decided = (
        "{decision, select, approved {approved} approved_for_session {approved for the session} denied {denied}"
        " other {denied, and the run is cancelled}}: {call}"
    )
    return translate("approvals.summary", decided, decision=decision, call=call)


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
