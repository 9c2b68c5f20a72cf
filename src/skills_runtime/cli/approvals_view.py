"""Requests for approval: all of them as a table, one of them on a page, and as data for programs."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import msgspec
from rich.console import Console, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from skills_runtime.cli.approval_text import call_lines, fact_lines, grant_of, rule_paragraph, title_line
from skills_runtime.cli.locate import short_approval, short_id
from skills_runtime.cli.output import answers, cut, labelled, talk
from skills_runtime.cli.requests import Asked
from skills_runtime.cli.state import shown_path
from skills_runtime.cli.text import age, between, local_time, plural
from skills_runtime.cli.waits import command_for, decision_commands
from skills_runtime.clock import SystemClock
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


def show_requests(requests: Sequence[Asked], *, program: str, no_color: bool) -> None:
    """All requests, one line each, and what to do with them."""
    if not requests:
        talk(no_color=no_color).print(Text("nothing waits for an approval"))
        return
    console = answers(no_color=no_color)
    console.print(_table(console, requests, SystemClock().now()))
    decided = sum(asked.decided is not None for asked in requests)
    more = f"; {plural(decided, 'decision')} kept until `{program} runs resume RUN`" if decided else ""
    talk(no_color=no_color).print(Text(f"`{program} approvals show ID` shows all of it{more}", style="dim"))


def write_requests(requests: Sequence[Asked], output: BinaryIO) -> None:
    """All requests as JSON, one object a line."""
    for asked in requests:
        output.write(msgspec.json.encode(_data(asked)) + b"\n")


def write_request(asked: Asked, output: TextIO, *, program: str) -> None:
    """One request as one JSON object, with everything whoever decides is shown."""
    data = _data(asked) | {"request": asked.request(), "commands": _commands(asked, program)}
    output.write(msgspec.json.format(msgspec.json.encode(data)).decode() + "\n")


def show_request(asked: Asked, *, program: str, no_color: bool) -> None:
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


def _page(asked: Asked, program: str) -> Iterator[RenderableType]:
    request, pending = asked.request(), asked.pending
    yield title_line(request, indent=0)
    yield from call_lines(request, indent=2, whole=True).lines
    yield fact_lines(request, indent=2, whole=True)
    now = SystemClock().now()
    facts = {
        "run": f"{asked.run_id} · {shown_path(asked.root)}",
        "since": f"{local_time(pending.since)} · {age(between(pending.since, now))} ago",
        "expires": f"{local_time(pending.expires_at)} · {_left(pending.expires_at, now)}" if pending.expires_at else "",
        "id": asked.id,
    }
    yield labelled({label: readable_line(text) for label, text in facts.items() if text}, indent=2, width=9)
    if asked.decided is not None:
        yield Padding(Text(f"decided: {readable_line(str(asked.decided.get('decision')))}", style="bold"), (0, 0, 0, 2))
    yield Text("next", style="bold")
    yield labelled(_commands(asked, program), indent=2, width=9)


def _commands(asked: Asked, program: str) -> dict[str, str]:
    command = command_for(program, short_id(asked.run_id))
    if asked.decided is not None:
        return {"go on": command("runs resume")}
    return {label: line for label, line in decision_commands(asked.id, command).items() if label != "look"}


def _data(asked: Asked) -> dict[str, Any]:
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
        "path": str(asked.root),
    }


def _table(console: Console, requests: Sequence[Asked], now: str) -> Table:
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


def _cells(asked: Asked, now: str, *, is_cut: bool) -> dict[str, Text]:
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
