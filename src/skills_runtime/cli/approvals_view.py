"""Requests for approval: which one is meant, how they are shown, and what follows a decision."""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import msgspec
from rich.console import Console, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from skills_runtime.cli.approval_text import call_lines, fact_lines, grant_of, rule_paragraph, title_line
from skills_runtime.cli.errors import Program
from skills_runtime.cli.execution import resume_run
from skills_runtime.cli.options import ConfigOptions, ViewOptions
from skills_runtime.cli.output import answers, cut, labelled, talk, write_receipt
from skills_runtime.cli.state import open_service, shown_path
from skills_runtime.cli.text import APPROVAL, age, between, local_time, plural, short_approval, short_id
from skills_runtime.cli.waits import command_for, decision_commands
from skills_runtime.clock import SystemClock
from skills_runtime.engine import OpenApproval, RecordedRun, RunService
from skills_runtime.errors import ApprovalStale, LogEnded, LogLocked, SkillsRuntimeError, ValidationFailed
from skills_runtime.events.payloads import ApprovalDecided
from skills_runtime.ports import InboxMessage
from skills_runtime.safety.approvals.request import Scope
from skills_runtime.safety.policy import Rule
from skills_runtime.text import readable_line

_CALL = "call"
_COLUMNS: dict[str, JustifyMethod] = {
    "id": "left", "run": "left", "tool": "left", _CALL: "left", "risk": "left", "since": "right", "expires": "right",
}  # fmt: skip
_NARROW = ("id", "tool", _CALL)
_WIDE, _LEAST = 76, 12
_RUN_CELLS = 16
_RISKS = {"high": "bold red", "medium": "bold"}
PATIENCE_SECONDS = 2.0
"""How long somebody who works on the run has to take the decision in, before we say that it waits."""
_PAUSE_SECONDS = 0.1
WORDS: Mapping[str, str] = {
    "approved": "approved",
    "approved_for_session": "approved for the session",
    "denied": "denied",
    "abort": "denied, and the run ends",
}


def show_requests(requests: Sequence[OpenApproval], *, program: str, no_color: bool) -> None:
    """All requests, one line each, and what to do with them."""
    if not requests:
        talk(no_color=no_color).print(Text("nothing waits for an approval"))
        return
    console = answers(no_color=no_color)
    console.print(_table(console, requests, SystemClock().now()))
    decided = sum(asked.decided is not None for asked in requests)
    more = f"; {plural(decided, 'decision')} kept until `{program} runs resume RUN`" if decided else ""
    talk(no_color=no_color).print(Text(f"`{program} approvals show ID` shows all of it{more}", style="dim"))


def write_requests(requests: Sequence[OpenApproval], output: BinaryIO) -> None:
    """All requests as JSON, one object a line."""
    for asked in requests:
        output.write(msgspec.json.encode(_data(asked)) + b"\n")


def write_request(asked: OpenApproval, output: TextIO, *, program: str) -> None:
    """One request as one JSON object, with everything whoever decides is shown."""
    data = _data(asked) | {"request": asked.request(), "commands": _commands(asked, program)}
    output.write(msgspec.json.format(msgspec.json.encode(data)).decode() + "\n")


def show_request(asked: OpenApproval, *, program: str, no_color: bool) -> None:
    """One request on a page."""
    console = answers(no_color=no_color)
    for line in _page(asked, program):
        console.print(line)


def show_rule(rule: Rule, scope: Scope, file: Path, *, no_color: bool) -> None:
    """A rule in full before it is added, and what it allows."""
    console = talk(no_color=no_color)
    place = "" if scope == "run" else f", kept in {shown_path(file)}"
    console.print(Text.assemble(("the rule ", "bold"), readable_line(f"allows {grant_of(rule, scope)}{place}")))
    console.print(rule_paragraph(rule, indent=2))


def _page(asked: OpenApproval, program: str) -> Iterator[RenderableType]:
    request, pending = asked.request(), asked.pending
    yield title_line(request, indent=0)
    yield from call_lines(request, indent=2, whole=True).lines
    yield fact_lines(request, indent=2, whole=True)
    now = SystemClock().now()
    facts = {
        "run": f"{asked.run_id} · {shown_path(asked.paths.root)}",
        "since": f"{local_time(pending.since)} · {age(between(pending.since, now))} ago",
        "expires": f"{local_time(pending.expires_at)} · {_left(pending.expires_at, now)}" if pending.expires_at else "",
        "id": asked.id,
    }
    yield labelled({label: readable_line(text) for label, text in facts.items() if text}, indent=2, width=9)
    if asked.decided is not None:
        yield Padding(Text(f"decided: {readable_line(str(asked.decided.get('decision')))}", style="bold"), (0, 0, 0, 2))
    yield Text("next", style="bold")
    yield labelled(_commands(asked, program), indent=2, width=9)


def _commands(asked: OpenApproval, program: str) -> dict[str, str]:
    command = command_for(program, short_id(asked.run_id))
    if asked.decided is not None:
        return {"go on": command("runs resume")}
    return {label: line for label, line in decision_commands(asked.id, command).items() if label != "look"}


def _data(asked: OpenApproval) -> dict[str, Any]:
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
        "decided": asked.decided.get("decision") if asked.decided is not None else None,
        "path": str(asked.paths.root),
    }


def _table(console: Console, requests: Sequence[OpenApproval], now: str) -> Table:
    """One line a request; the call takes the room the other columns leave."""
    lines = [_cells(asked, now, is_cut=console.is_terminal) for asked in requests]
    headings = [name for name in _COLUMNS if console.width >= _WIDE or name in _NARROW]
    others = [name for name in headings if name != _CALL]
    taken = sum(max(len(name), *(line[name].cell_len for line in lines)) + 2 for name in others)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in headings:
        table.add_column(name, no_wrap=True, justify=_COLUMNS[name])
    for line in lines:
        line[_CALL].plain = cut(line[_CALL].plain, max(console.width - taken, _LEAST))
        table.add_row(*(line[name] for name in headings))
    return table


def _cells(asked: OpenApproval, now: str, *, is_cut: bool) -> dict[str, Text]:
    pending, run = asked.pending, short_id(asked.run_id)
    level = pending.risk.get("level", "")
    decided = str(asked.decided.get("decision")) if asked.decided is not None else ""
    return {
        "id": Text(short_approval(asked.id), style="cyan"),
        "run": Text(cut(run, _RUN_CELLS) if is_cut else run),
        "tool": Text(readable_line(pending.tool)),
        _CALL: Text(readable_line(pending.summary.removeprefix(f"{pending.tool} "))),
        "risk": Text(readable_line(level) or "-", style=_RISKS.get(level, "dim")),
        "since": Text(age(between(pending.since, now)), style="dim"),
        "expires": Text(readable_line(decided) or _left(pending.expires_at, now), style="dim"),
    }


def _left(expires_at: str, now: str) -> str:
    if not expires_at:
        return "never"
    return "expired" if now > expires_at else f"in {age(between(now, expires_at))}"


def open_requests(service: RunService) -> list[OpenApproval]:
    """Every open request of the runs in the ledger and in this workspace, oldest first."""
    service.refresh()
    return service.approvals()


def find_request(service: RunService, text: str) -> OpenApproval:
    """The request whose id is this or begins so, or the only one of the run that is named so."""
    everything = open_requests(service)
    near = [asked for asked in everything if (bool(text) and asked.id.startswith((text, f"{APPROVAL}{text}")))]
    if len(near) == 1:
        return near[0]
    if near:
        return _one_of(near, text)
    mine = _of_run(service, text)
    if len(mine) != 1:
        raise _unclear(text, mine)
    return mine[0]


def _one_of(near: list[OpenApproval], text: str) -> OpenApproval:
    exact = [asked for asked in near if text in (asked.id, asked.id.removeprefix(APPROVAL))]
    if len(exact) == 1:
        return exact[0]
    if len({asked.id for asked in near}) == 1:  # a fork asks what its parent asks
        runs = ", ".join(f"`{short_id(asked.run_id)}`" for asked in near)
        raise ValidationFailed(f"several runs ask for `{text}`: {runs}", hint="name the run instead of the request")
    names = ", ".join(f"`{short_approval(asked.id)}`" for asked in near[:10])
    raise ValidationFailed(f"several requests begin with `{text}`: {names}", hint="give more characters of the id")


def _of_run(service: RunService, text: str) -> list[OpenApproval]:
    with suppress(SkillsRuntimeError, OSError):
        return service.approvals_of(text)
    return []


def _unclear(text: str, mine: list[OpenApproval]) -> SkillsRuntimeError:
    if mine:
        names = ", ".join(f"`{short_approval(asked.id)}`" for asked in mine)
        return ValidationFailed(f"the run `{text}` asks for several approvals", hint=f"name one: {names}")
    return ApprovalStale(f"no request `{text}` is open; it may have been decided already")


def look_up(service: RunService, reference: str, program: str) -> OpenApproval:
    """The request somebody wants to decide on; one that is decided already is refused."""
    asked = find_request(service, reference)
    if asked.decided is not None:
        by = f" by {asked.decided['decided_by']}" if asked.decided.get("decided_by") else ""
        said = WORDS.get(str(asked.decided.get("decision")), "decided")
        resume = command_for(program, short_id(asked.run_id))("runs resume")
        raise ApprovalStale(
            f"`{short_approval(asked.id)}` was decided already: {said}{by}", hint=f"`{resume}` goes on with it"
        )
    return asked


def go_on(
    asked: OpenApproval,
    message: InboxMessage,
    given: ConfigOptions,
    view: ViewOptions,
    program: Program,
    *,
    resume: bool = True,
) -> int:
    """Let the run go on here, unless it is to wait or somebody works on it already."""
    with open_service(given) as service:
        run = service.find(service.whose_turn(str(asked.paths.root)))
    told = f"{WORDS[message.body['decision']]}: {asked.pending.summary or asked.pending.tool}"
    following = command_for(program.name, short_id(run.root.name))("runs resume")
    if not resume:
        return write_receipt(message, f"{told}; kept until the run goes on", following, as_json=view.json)
    if not (view.json or view.quiet):
        sys.stderr.write(f"{readable_line(told)}\n")
        sys.stderr.flush()
    for _ in range(2):  # who works on the run may be about to leave it
        try:
            return resume_run(str(run.root), given, view, program).exit_code
        except (LogLocked, LogEnded):
            if _is_taken_in(asked, message):
                return _handed_over(asked, message, "taken in by the process that works on the run", view)
    return _handed_over(asked, message, "handed over to the process that works on the run", view)


def _handed_over(asked: OpenApproval, message: InboxMessage, how: str, view: ViewOptions) -> int:
    return write_receipt(message, f"the decision on `{short_approval(asked.id)}` was {how}", as_json=view.json)


def _is_taken_in(asked: OpenApproval, message: InboxMessage) -> bool:
    """Whether somebody acts on the decision before long; one that came too late is refused."""
    run, deadline = RecordedRun(asked.paths), time.monotonic() + PATIENCE_SECONDS
    while True:
        view = run.view()
        if not view.state.open or asked.id not in view.pending.approvals.open:
            # Somebody at the terminal of the run may have been faster.
            for event in run.events(from_seq=asked.pending.seq):
                made = event.payload
                if isinstance(made, ApprovalDecided) and made.approval_id == asked.id and made.message_id != message.id:
                    said, by = WORDS.get(made.decision, "decided"), f" by {made.decided_by}" if made.decided_by else ""
                    raise ApprovalStale(f"`{short_approval(asked.id)}` was decided already: {said}{by}")
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE_SECONDS)
