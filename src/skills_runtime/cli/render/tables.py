"""Lists of runs and of settings as tables, fitted to the terminal."""

from collections.abc import Iterable, Mapping, Sequence
from typing import BinaryIO

import msgspec
from rich.console import Console, JustifyMethod
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from skills_runtime.cli.locate import short_id
from skills_runtime.cli.render.console import answers, cut, talk
from skills_runtime.cli.render.text import between, count, duration, local_time, one_line, plural
from skills_runtime.cli.render.words import signed
from skills_runtime.config import Origin
from skills_runtime.events.states import RunStatus
from skills_runtime.ledger import Problem, RunRow

_TITLE = "task"
_COLUMNS: dict[str, JustifyMethod] = {
    "run": "left", "status": "left", _TITLE: "left", "started": "left", "time": "right", "tokens": "right",
}  # fmt: skip
Kinds = Mapping[str, str]
"""What runs wait for, by their id."""
_WAITING = (RunStatus.WAITING_FOR_USER, RunStatus.REVIEW_REQUIRED, RunStatus.REVISION_REQUIRED)
_NARROW_COLUMNS = 3
_ID_CELLS = 24
_WIDE_SETTINGS = 140
_WIDE = 76
"""Cells from which on a list has room for times and numbers."""


def show_rows(rows: Sequence[RunRow], *, kinds: Kinds, program: str, no_color: bool) -> None:
    """Runs, one line each; those that wait say what for."""
    if not rows:
        talk(no_color=no_color).print(Text(f"no runs found; `{program} demo` makes one, `--all` looks everywhere"))
        return
    console = answers(no_color=no_color)
    console.print(_table(console, rows, kinds))
    _mention_waiting(rows, program=program, no_color=no_color)


def show_tasks(rows: Sequence[RunRow], *, kinds: Kinds, program: str, no_color: bool) -> None:
    """Runs under the task they are tries of."""
    if not rows:
        show_rows(rows, kinds=kinds, program=program, no_color=no_color)
        return
    console = answers(no_color=no_color)
    tasks: dict[str, list[RunRow]] = {}
    for row in rows:
        tasks.setdefault(row.task_id, []).append(row)
    for task_id, runs in tasks.items():
        console.print(Text.assemble(("task ", "bold"), task_id, (f"  {plural(len(runs), 'run')}", "dim")))
        console.print(_table(console, runs, kinds))
    _mention_waiting(rows, program=program, no_color=no_color)


def write_rows(rows: Iterable[RunRow], output: BinaryIO) -> None:
    """Runs as JSON, one object a line."""
    for row in rows:
        output.write(msgspec.json.encode(row) + b"\n")


def show_problems(problems: Sequence[Problem], *, program: str, no_color: bool) -> None:
    """Say that some runs could not be read."""
    if problems:
        text = f"notice: {plural(len(problems), 'run')} could not be read; `{program} ledger rebuild` says why"
        talk(no_color=no_color).print(Text(text, style="dim"))


def _mention_waiting(rows: Sequence[RunRow], *, program: str, no_color: bool) -> None:
    waiting = sum(row.status in _WAITING for row in rows)
    if waiting:
        verb = "waits" if waiting == 1 else "wait"
        asked = any(row.pending_approvals for row in rows)
        where = "approvals list` shows what to approve" if asked else "runs show RUN` says what for"
        text = f"{plural(waiting, 'run')} {verb} for you; `{program} {where}"
        talk(no_color=no_color).print(Text(text, style="dim"))


def show_origins(origins: Iterable[Origin], *, no_color: bool) -> None:
    """Settings with their sources."""
    console = answers(no_color=no_color)
    rows = map(_origin, origins)
    if console.width < _WIDE_SETTINGS:
        for key, value, source, note in rows:
            console.print(Text.assemble(key, ": ", value))
            console.print(Padding(Text.assemble(source, "  ", note), (0, 0, 0, 4), expand=False))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("setting", "value", "source", "note"):
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def _origin(one: Origin) -> tuple[Text, Text, Text, Text]:
    source = one.source.removesuffix(f"#{one.key}")
    return (
        Text(one_line(one.key), style="bold"),
        Text(one_line(one.value)),
        Text(one_line(source), style="dim"),
        Text(one_line(one.note), style="cyan"),
    )


def _table(console: Console, rows: Sequence[RunRow], kinds: Kinds) -> Table:
    """One line a run; the title takes the room the other columns leave."""
    lines = [_cells(row, kinds.get(row.run_id), is_cut=console.is_terminal) for row in rows]
    headings = list(_COLUMNS) if console.width >= _WIDE else list(_COLUMNS)[:_NARROW_COLUMNS]
    others = [index for index, name in enumerate(headings) if name != _TITLE]
    taken = sum(max(len(headings[index]), *(line[index].cell_len for line in lines)) + 2 for index in others)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in headings:
        table.add_column(name, no_wrap=True, justify=_COLUMNS[name])
    for line in lines:
        title = line[headings.index(_TITLE)]
        title.plain = cut(title.plain, max(console.width - taken, 8))
        table.add_row(*line[: len(headings)])
    return table


def _cells(row: RunRow, waiting_kind: str | None, *, is_cut: bool) -> list[Text]:
    name = short_id(row.run_id)
    return [
        Text(cut(name, _ID_CELLS) if is_cut else name, style="cyan"),
        _status(row, waiting_kind),
        Text(one_line(row.title)),
        Text(local_time(row.started_at), style="dim"),
        Text(duration(between(row.started_at, row.completed_at)), style="dim"),
        Text(count(row.input_tokens + row.output_tokens), style="dim"),
    ]


def _status(row: RunRow, waiting_kind: str | None) -> Text:
    status = signed(row.status, waiting_kind)
    asked = plural(row.pending_approvals, "approval") if row.pending_approvals else ""
    return status.append(f" · {asked}") if asked else status
