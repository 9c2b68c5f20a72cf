"""`approvals`: the calls that wait for a yes or no, how they are shown, and the decisions on them."""

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
    checked_text,
    login_name,
    open_service,
    read_text,
    shown_path,
)
from skills_runtime.cli.output import (
    APPROVAL,
    age,
    answers,
    between,
    count,
    cut,
    labelled,
    list_table,
    local_time,
    plural,
    short_approval,
    short_id,
    talk,
    write_json,
    write_receipt,
)
from skills_runtime.cli.program import ExampleCommand, Misuse, Program, create_app
from skills_runtime.cli.run_text import CommandFor, decision_commands
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
    "Decide on calls that wait for an approval, from any terminal.",
    "approvals list",
    "approvals approve 3f2a",
)

NoResume = Annotated[
    bool, typer.Option("--no-resume", help="Only keep the decision; the run goes on when somebody resumes it.")
]

_COLUMNS: dict[str, JustifyMethod] = {
    "id": "left", "run": "left", "tool": "left", "call": "left", "risk": "left", "since": "right", "expires": "right",
}  # fmt: skip
_RUN_CELLS = 16
_RISK_STYLES = {"high": "bold red", "medium": "bold"}
PATIENCE_SECONDS = 2.0
"""How long another process that works on the run has to take the decision in, before we say that it waits."""
_PAUSE_SECONDS = 0.1
WORDS: Mapping[str, str] = {
    "approved": "approved",
    "approved_for_session": "approved for the session",
    "denied": "denied",
    "abort": "denied, and the run ends",
}
_DIFF_HEADINGS = ("--- ", "+++ ")
_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}
Fence = Mapping[str, Any]
NONE = "none: the command has all your rights"
SHOWN_PATHS = 4
"""Of each list, where not all of it is asked for."""
_ACCESS = {"writable": "writes", "readable": "reads", "protected": "protected", "hidden": "hidden"}
LABEL_CELLS = 24
SHOWN_LINES = 20
SHOWN_CHARS = 2000
_LABEL = 9
_SHOWN_AS_CHANGES = {"file_write": "content", "apply_patch": "input"}
"""Arguments, by tool, whose text the changes of files tell better."""


@app.command("list", cls=ExampleCommand, epilog="approvals list\napprovals list --json")
def list_approvals(
    context: typer.Context,
    *,
    as_json: Json = False,
    no_color: NoColor = False,
    workspace_root: WorkspaceRoot = ".",
) -> int:
    """List the calls that wait for an approval, oldest first."""
    with open_service(ConfigOptions(workspace_root)) as service:
        requests = open_requests(service)
    if as_json:
        for request in requests:
            write_json(_document(request), pretty=False)
        return 0
    hints, program = talk(no_color=no_color), context.obj.name
    if not requests:
        hints.print(Text("nothing waits for an approval"))
        return 0
    console, now = answers(no_color=no_color), SystemClock().now()
    lines = [_cells(approval, now, is_cut=console.is_terminal) for approval in requests]
    narrow = ("id", "tool", "call")
    console.print(list_table(console, lines, _COLUMNS, narrow=narrow, elastic="call", least=12))
    decided = sum(asked.sent_decision is not None for asked in requests)
    more = f"; {plural(decided, 'decision')} kept until `{program} runs resume RUN`" if decided else ""
    hints.print(Text(f"`{program} approvals show ID` shows all of it{more}", style="dim"))
    return 0


def _cells(asked: "OpenApproval", now: str, *, is_cut: bool) -> dict[str, Text]:
    pending, run = asked.pending, short_id(asked.run_id)
    level = pending.risk.get("level", "")
    decided = str(asked.sent_decision.get("decision")) if asked.sent_decision is not None else ""
    return {
        "id": Text(short_approval(asked.id), style="cyan"),
        "run": Text(cut(run, _RUN_CELLS) if is_cut else run),
        "tool": Text(readable_line(pending.tool)),
        "call": Text(readable_line(pending.summary.removeprefix(f"{pending.tool} "))),
        "risk": Text(readable_line(level) or "-", style=_RISK_STYLES.get(level, "dim")),
        "since": Text(age(between(pending.since, now)), style="dim"),
        "expires": Text(readable_line(decided) or _time_left(pending.expires_at, now), style="dim"),
    }


def _time_left(expires_at: str, now: str) -> str:
    if not expires_at:
        return "never"
    return "expired" if now > expires_at else f"in {age(between(now, expires_at))}"


def _document(asked: "OpenApproval") -> dict[str, Any]:
    pending = asked.pending
    return {
        "approval_id": asked.id,
        "run_id": asked.run_id,
        "call_id": pending.call_id,
        "tool": pending.tool,
        "summary": pending.summary,
        "risk": pending.risk,
        "rule": pending.rule,
        "since": pending.since,
        "expires_at": pending.expires_at or None,
        "approval_key": pending.approval_key,
        "decided": asked.sent_decision.get("decision") if asked.sent_decision is not None else None,
        "path": str(asked.paths.root),
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
    """Show everything about a call that waits for an approval."""
    with open_service(ConfigOptions(workspace_root)) as service:
        request = find_request(service, approval)
    command = CommandFor(context.obj.name, short_id(request.run_id))
    commands = {"go on": command("runs resume")}
    if request.sent_decision is None:
        commands = {label: line for label, line in decision_commands(request.id, command).items() if label != "look"}
    if as_json:
        write_json(_document(request) | {"request": request.request(), "commands": commands})
        return 0
    console = answers(no_color=no_color)
    for line in _page(request, commands):
        console.print(line)
    return 0


def _page(asked: "OpenApproval", commands: Mapping[str, str]) -> Iterator[RenderableType]:
    """One request with everything that helps to decide, and the commands that do."""
    request, pending, now = asked.request(), asked.pending, SystemClock().now()
    expires = f"{local_time(pending.expires_at)} · {_time_left(pending.expires_at, now)}" if pending.expires_at else ""
    yield title_line(request, indent=0)
    yield from call_lines(request, indent=2, whole=True).lines
    yield fact_lines(request, indent=2, whole=True)
    facts = {
        "run": f"{asked.run_id} · {shown_path(asked.paths.root)}",
        "since": f"{local_time(pending.since)} · {age(between(pending.since, now))} ago",
        "expires": expires,
        "id": asked.id,
    }
    yield labelled({label: readable_line(text) for label, text in facts.items() if text}, indent=2, width=_LABEL)
    if asked.sent_decision is not None:
        yield Padding(
            Text(f"decided: {readable_line(str(asked.sent_decision.get('decision')))}", style="bold"), (0, 0, 0, 2)
        )
    yield Text("next", style="bold")
    yield labelled(commands, indent=2, width=_LABEL)


@app.command("approve", cls=ExampleCommand, epilog="approvals approve 3f2a\napprovals approve 3f2a --rule run")
def approve(
    context: typer.Context,
    *,
    session: Annotated[
        bool, typer.Option("--session", help="Also whenever this very call comes again in this session.")
    ] = False,
    rule: Annotated[
        Literal["run", "skill", "user"] | None,
        typer.Option("--rule", help="Add a rule that allows such calls in this run, by this skill, or in all runs."),
    ] = None,
    edit: Annotated[
        str | None,
        typer.Option("--edit", metavar="FILE", help="Run it with other arguments, a JSON object; - reads stdin."),
    ] = None,
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="What to remember about it.")] = "",
    as_json: EventsAsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
    approval: ApprovalReference,
    no_resume: NoResume = False,
) -> int:
    """Allow a call that waits for an approval, and go on with its run."""
    # The engine is slow to import, and help needs none of it.
    from skills_runtime.engine import ApprovalAnswer, build_rule

    options, view = ConfigOptions(workspace_root, config, assignments), ViewOptions(as_json, quiet, no_color)
    if (session, rule is not None, edit is not None).count(True) > 1:
        raise Misuse("`--session`, `--rule` and `--edit` grant different things; give one of them")
    answer = ApprovalAnswer(
        decision="approved_for_session" if session else "approved",
        decided_by=login_name(),
        note=checked_text(note, "--note"),
        arguments=read_arguments(read_text(edit, option="--edit")) if edit is not None else None,
        rule=rule,
    )
    with open_service(options) as service:
        asked = look_up(service, approval, context.obj.name)
        if rule is not None:
            granted = build_rule(asked.request(), rule)
            file = "" if rule == "run" else f", kept in {shown_path(service.rule_file)}"
            console, text = talk(no_color=no_color), readable_line(f"allows {grant_of(granted, rule)}{file}")
            console.print(Text.assemble(("the rule ", "bold"), text))
            console.print(rule_paragraph(granted, indent=2))
        message = service.decide(asked, answer)
    return go_on(asked, message, options, view, context.obj, resume=not no_resume)


@app.command(
    "deny", cls=ExampleCommand, epilog='approvals deny 3f2a --reason "Use the mirror"\napprovals deny 3f2a --abort'
)
def deny(
    context: typer.Context,
    *,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; the model reads it.")] = "",
    abort: Annotated[bool, typer.Option("--abort", help="End the run, too.")] = False,
    as_json: EventsAsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
    approval: ApprovalReference,
    no_resume: NoResume = False,
) -> int:
    """Refuse a call that waits for an approval, and go on with its run, or end it."""
    from skills_runtime.engine import ApprovalAnswer  # slow, and help needs none of it

    options, view = ConfigOptions(workspace_root, config, assignments), ViewOptions(as_json, quiet, no_color)
    answer = ApprovalAnswer(
        decision="abort" if abort else "denied", decided_by=login_name(), note=checked_text(reason, "--reason")
    )
    with open_service(options) as service:
        asked = look_up(service, approval, context.obj.name)
        message = service.decide(asked, answer)
    return go_on(asked, message, options, view, context.obj, resume=not no_resume)


def open_requests(service: "RunService") -> "list[OpenApproval]":
    """Every open request of the runs in the ledger and in this workspace, oldest first."""
    service.refresh()
    return service.approvals()


def find_request(service: "RunService", text: str) -> "OpenApproval":
    """The request whose id is this or begins so, or the only one of the run that is named so."""
    approvals = open_requests(service)
    near = [approval for approval in approvals if text and approval.id.startswith((text, f"{APPROVAL}{text}"))]
    exact = [asked for asked in near if text in (asked.id, asked.id.removeprefix(APPROVAL))]
    if len(near) == 1 or len(exact) == 1:
        return (exact or near)[0]
    if near:
        if len({asked.id for asked in near}) == 1:  # a fork asks what its parent asks
            runs = ", ".join(f"`{short_id(asked.run_id)}`" for asked in near)
            raise ValidationFailed(f"several runs ask for `{text}`: {runs}", hint="name the run instead of the request")
        names = ", ".join(f"`{short_approval(asked.id)}`" for asked in near[:10])
        raise ValidationFailed(f"several requests begin with `{text}`: {names}", hint="give more characters of the id")
    mine: list[OpenApproval] = []
    with suppress(SkillsRuntimeError, OSError):
        mine = service.approvals_of(text)
    if not mine:
        raise ApprovalStale(f"no request `{text}` is open; it may have been decided already")
    if len(mine) > 1:
        names = ", ".join(f"`{short_approval(asked.id)}`" for asked in mine)
        raise ValidationFailed(f"the run `{text}` asks for several approvals", hint=f"name one: {names}")
    return mine[0]


def look_up(service: "RunService", reference: str, program: str) -> "OpenApproval":
    """The request that is to be decided; one that is decided already is refused."""
    approval = find_request(service, reference)
    if approval.sent_decision is not None:
        resume = CommandFor(program, short_id(approval.run_id))("runs resume")
        by, decision = str(approval.sent_decision.get("decided_by") or ""), str(approval.sent_decision.get("decision"))
        raise _already_decided(approval, decision, by, hint=f"`{resume}` goes on with it")
    return approval


def _already_decided(asked: "OpenApproval", decision: str, by: str, hint: str = "") -> ApprovalStale:
    who = f" by {by}" if by else ""
    said = WORDS.get(decision, "decided")
    return ApprovalStale(f"`{short_approval(asked.id)}` was decided already: {said}{who}", hint=hint)


def go_on(
    asked: "OpenApproval",
    message: InboxMessage,
    given: ConfigOptions,
    view: ViewOptions,
    program: Program,
    *,
    resume: bool = True,
) -> int:
    """Let the run go on here, unless it is to wait or another process works on it already."""
    from skills_runtime.cli.live import resume_run  # slow, and help needs none of it

    with open_service(given) as service:
        run = service.find(service.find_run_to_continue(str(asked.paths.root)))
    told = f"{WORDS[message.body['decision']]}: {asked.pending.summary or asked.pending.tool}"
    if not resume:
        following = CommandFor(program.name, short_id(run.root.name))("runs resume")
        return write_receipt(message, f"{told}; kept until the run goes on", following, as_json=view.json)
    if not (view.json or view.quiet):
        sys.stderr.write(f"{readable_line(told)}\n")
        sys.stderr.flush()
    how = "handed over to"
    for _ in range(2):  # the process that works on the run may be about to leave it
        try:
            return resume_run(str(run.root), given, view, program).exit_code
        except (LogLocked, LogEnded):
            if _is_taken_in(asked, message):
                how = "taken in by"
                break
    text = f"the decision on `{short_approval(asked.id)}` was {how} the process that works on the run"
    return write_receipt(message, text, as_json=view.json)


def _is_taken_in(asked: "OpenApproval", message: InboxMessage) -> bool:
    """Whether another process acts on the decision before long; one that came too late is refused."""
    from skills_runtime.engine import RecordedRun  # slow, and help needs none of it

    run, deadline = RecordedRun(asked.paths), time.monotonic() + PATIENCE_SECONDS
    while True:
        view = run.view()
        if not view.state.open or asked.id not in view.pending.approvals.open:
            # A decision at the terminal of the run may have been faster.
            for event in run.events(from_seq=asked.pending.seq):
                payload = event.payload
                if (
                    isinstance(payload, ApprovalDecided)
                    and payload.approval_id == asked.id
                    and payload.message_id != message.id
                ):
                    raise _already_decided(asked, payload.decision, payload.decided_by)
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE_SECONDS)


def read_arguments(text: str) -> dict[str, Any]:
    """Arguments that somebody typed, or wrote to a file."""
    hint = 'write an object, such as {"path": "notes.md"}'
    try:
        arguments: Any = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise ValidationFailed(f"the arguments are not JSON: {error}", hint=hint) from None
    if not isinstance(arguments, dict):
        raise ValidationFailed("the arguments are not a JSON object", hint=hint)
    return cast("dict[str, Any]", arguments)


# A request in words: the call to the letter, its changes, the sandbox, and the rule that could be made


class Shown(NamedTuple):
    """Lines, and how many there would be more."""

    lines: list[RenderableType]
    left_out: int = 0


def title_line(request: ApprovalRequest, *, indent: int) -> Text:
    """Which tool needs an approval, and how bad that could be."""
    level = request.risk.get("level", "")
    style = _RISK_STYLES.get(level)
    risk = [" · ", (f"{readable_line(level)} risk", style)] if style else []
    return Text.assemble(" " * indent, (readable_line(request.tool), "bold"), " needs your approval", *risk)


def call_lines(request: ApprovalRequest, *, indent: int, whole: bool = False) -> Shown:
    """What would be done, to the letter: the command, the changes of files, and what else the call says."""
    intent, lines = request.intent, list[RenderableType]()
    command = _command(intent)
    if command is not None:
        # Never cut: its end may be what matters. Each line stands behind a prompt, so that none can pretend to be ours.
        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.add_column(no_wrap=True, style="dim")
        grid.add_column(overflow="fold")
        for number, line in enumerate(command.split("\n")):
            grid.add_row(Text(">" if number else "$"), Text(readable(line), style="bold"))
        lines.append(Padding(grid, (0, 0, 0, indent), expand=False))
    changes = change_lines(intent.files, indent=indent, limit=None if whole else SHOWN_LINES)
    arguments, rest = _arguments(request, whole=whole)
    lines += changes.lines
    if arguments:
        lines.append(labelled(arguments, indent=indent, width=_LABEL))
    return Shown(lines, changes.left_out + rest)


def _command(intent: Intent) -> str | None:
    """The command a call would run, as one types it."""
    return intent.line if intent.line is not None else shlex.join(intent.argv) if intent.argv else None


def change_lines(files: tuple[FileTouch, ...], *, indent: int, limit: int | None = None) -> Shown:
    """Every file with its changes, which are cut after `limit` lines altogether."""
    lines: list[RenderableType] = []
    left_out, room = 0, limit
    for file in files:
        changes = file.diff.split("\n") if file.diff else []
        marks = zip(changes, _DIFF_HEADINGS, strict=False)
        if len(changes) > 1 and all(line.startswith(mark) for line, mark in marks):  # the names stand in our heading
            changes = changes[2:]
        shown = changes if room is None else changes[:room]
        room = None if room is None else room - len(shown)
        left_out += len(changes) - len(shown)
        come, go = (sum(line.startswith(mark) for line in changes) for mark in "+-")
        counts = [(f"  +{come}", "green")] if come else []
        counts += [(f"  -{go}", "red")] if go else []
        lines.append(_indented(Text.assemble((file.touch, "bold"), f" {readable_line(file.path)}", *counts), indent))
        for line in shown:
            style = _DIFF_STYLES.get(line[:1], "")
            lines.append(_indented(Text(readable(line), style=style, overflow="fold"), indent + 2))
    if left_out:
        lines.append(_indented(Text(f"… {plural(left_out, 'more line')}", style="dim"), indent + 2))
    return Shown(lines, left_out)


def _indented(text: Text, indent: int) -> RenderableType:
    return Padding(text, (0, 0, 0, indent), expand=False)


def _arguments(request: ApprovalRequest, *, whole: bool) -> tuple[dict[str, str], int]:
    """The arguments that are not told otherwise, and how many characters of them were left out."""
    facts: dict[str, str] = {}
    left_out = 0
    for name, value in request.details.items():
        if _is_told(name, value, request):
            continue
        shown, rest = _cut(
            readable(value if isinstance(value, str) else msgspec.json.encode(value).decode()), whole=whole
        )
        left_out += rest
        # The sign tells arguments, which anybody may name, from what we say ourselves.
        label = f"{cut(readable_line(name), LABEL_CELLS)} ="
        while label in facts:  # two names that look alike must not hide an argument
            label = f"{label[:-2]}' ="
        facts[label] = f"{shown}\n{_more(rest)}" if rest else shown
    return facts, left_out


def _is_told(name: str, value: Any, request: ApprovalRequest) -> bool:
    """Whether an argument is shown already, as the command, the changes or one of the facts."""
    intent = request.intent
    if _SHOWN_AS_CHANGES.get(request.tool) == name and any(file.diff for file in intent.files):
        return True
    told: list[Any] = [intent.line, list(intent.argv), intent.typed, dict(intent.environment), intent.justification]
    told += [file.path for file in intent.files]
    told += [intent.directory] if intent.directory != "." else []
    return any(one and type(value) is type(one) and value == one for one in told)


def _cut(text: str, *, whole: bool) -> tuple[str, int]:
    shown = text if whole else "\n".join(text[:SHOWN_CHARS].split("\n")[:SHOWN_LINES])
    return shown, len(text) - len(shown)


def _more(characters: int) -> str:
    return f"… {count(characters)} more characters"


def fact_lines(request: ApprovalRequest, *, indent: int, whole: bool = False) -> RenderableType:
    """Everything else that helps to judge it."""
    intent, risk = request.intent, request.risk
    surroundings = {
        "types": "" if intent.typed is None else msgspec.json.encode(intent.typed).decode(),
        "workspace": request.workspace,
        "directory": "" if intent.directory == "." or _command(intent) is None else intent.directory,
        "sets": " ".join(f"{name}={shlex.quote(value)}" for name, value in intent.environment.items()),
        "script": ", ".join(f"{name} (sha256 {digest[:16]}…)" for name, digest in intent.digests.items()),
        "hosts": ", ".join(intent.hosts),
        "skill": intent.skill,
    }
    part = f": {risk['part']}" if risk.get("part") else ""
    reasons = {
        "risk": f"{risk.get('level', '')}, {risk['reason']}{part}" if risk.get("reason") else "",
        "asked by": request.rule + (f": {request.why}" if request.why else ""),
        "wants": "more than the fence allows" if intent.escalated else "",
        "reason": f"the model says: {intent.justification}" if intent.justification else "",
    }
    facts = {label: readable(text) for label, text in surroundings.items()}
    facts |= {label: readable_line(text) for label, text in reasons.items()}
    facts |= fence_facts(intent.fence) if whole else fence_line(intent.fence)
    # What is typed and what is set is part of the call, as a command is.
    shown = {
        label: text if whole or label in ("types", "sets") else cut(text, SHOWN_CHARS)
        for label, text in facts.items()
        if text
    }
    return labelled(shown, indent=indent, width=_LABEL)


def fence_line(fence: Fence) -> dict[str, str]:
    """The sandbox in a few lines: what it is, and what can be written, read and reached; nothing without a process."""
    if not fence:
        return {}
    if not fence.get("active"):
        return {"fence": NONE}
    network, gaps = _word(fence, "network"), [gap.partition(":")[0] for gap in _texts(fence, "gaps")]
    hosts = _listed(_allowed_hosts(fence), SHOWN_PATHS, 0)
    words = [
        _word(fence, "adapter"),
        _word(fence, "profile"),
        f"network {network}" + (f" ({hosts})" if hosts else "") if network else "",
        f"{plural(len(gaps), 'gap')}: {', '.join(gaps)}" if gaps else "",
    ]
    return {"fence": readable_line(" · ".join(filter(None, words)))} | _access(fence, SHOWN_PATHS)


def fence_facts(fence: Fence) -> dict[str, str]:
    """Everything that is known of it; the hosts of the call itself have that name already."""
    facts = {
        "reaches": ", ".join(_allowed_hosts(fence)),
        "never": ", ".join(_texts(_mapping(fence, "egress"), "deny")),
        "runs": shlex.join(_texts(fence, "argv")),
        "promises": ", ".join(_texts(fence, "promises")),
        "gaps": "\n".join(map(readable_line, _texts(fence, "gaps"))),
        "policy": _word(fence, "policy"),
    }
    every = fence_line(fence) | _access(fence)
    return every | {label: text if label == "gaps" else readable_line(text) for label, text in facts.items()}


def _access(fence: Fence, most: int | None = None) -> dict[str, str]:
    """What can be written and read, and what in it cannot; of long lists the beginning."""
    files = _mapping(fence, "file_access")
    if not files:
        return {}
    workspace, left_out = _word(files, "workspace"), _mapping(files, "left_out")

    def short(path: str) -> str:
        if path == workspace:
            return "the workspace"
        inside = path.removeprefix(f"{workspace}/")
        return readable_line(f"./{inside}" if inside != path else path)

    access: dict[str, str] = {}
    for name, label in _ACCESS.items():
        paths = [short(path) for path in _texts(files, name)]
        paths += [f"its own {files['temporary']}"] if name == "writable" and files.get("temporary") else []
        paths += ["the system's programs"] if name == "readable" and _texts(files, "system") else []
        access[label] = _listed(paths, most, cast("int", left_out.get(name, 0)))
    return {label: text for label, text in access.items() if text}


def _allowed_hosts(fence: Fence) -> list[str]:
    egress = _mapping(fence, "egress")
    return [*_texts(egress, "allow"), *_texts(egress, "allow_private")]


def _listed(names: list[str], most: int | None, left_out: int) -> str:
    rest = left_out + (max(0, len(names) - most) if most is not None else 0)
    return ", ".join(names[:most]) + (f" and {rest} more" if rest else "")


def _mapping(fence: Fence, name: str) -> Fence:
    value: Any = fence.get(name)
    return cast("Fence", value) if isinstance(value, Mapping) else {}


def _word(fence: Fence, name: str) -> str:
    value = fence.get(name)
    return value if isinstance(value, str) else ""


def _texts(fence: Fence, name: str) -> list[str]:
    value: Any = fence.get(name)
    return [str(one) for one in cast("list[object]", value)] if isinstance(value, list | tuple) else []


def grant_of(rule: "Rule", scope: str) -> str:
    """The calls that a rule allows, and where."""
    from skills_runtime.safety.policy import END  # slow, and help needs none of it

    exact = all(words[-1:] == (END,) for words in rule.command)
    commands = _quoted(shlex.join(word for word in words if word != END) for words in rule.command)
    begin = "are exactly" if exact else "begin with"
    words = [
        f"{_quoted(rule.tool)} commands that {begin} {commands}" if rule.command else f"calls of {_quoted(rule.tool)}",
        f"on {_quoted(rule.path)}" if rule.path else "",
        f"to {_quoted(rule.host)}" if rule.host else "",
        f"by the skill {_quoted(rule.skill)}" if rule.skill else "",
        "in this run" if scope == "run" else "in all your runs",
    ]
    return readable_line(" ".join(filter(None, words)))


def _quoted(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def rule_paragraph(rule: "Rule", *, indent: int) -> RenderableType:
    """A rule as it stands in a rule file."""
    from skills_runtime.safety.policy import render_rule  # slow, and help needs none of it

    return _indented(Text(readable(render_rule(rule).rstrip("\n")), overflow="fold"), indent)
