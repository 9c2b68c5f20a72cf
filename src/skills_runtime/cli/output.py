"""The two consoles, talk on stderr and answers on stdout, and how numbers, times, states and tables look."""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
from rich.cells import cell_len, set_cell_size
from rich.console import Console, JustifyMethod
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from skills_runtime.events import RunStatus
from skills_runtime.text import readable, readable_line

PLAIN_WIDTH = 80
_UNLIMITED_WIDTH = 10_000
"""Wide enough that nothing in a file is ever cut or wrapped."""
APPROVAL_PREFIX = "approval_"
"""How the id of every request for approval begins."""
_SHOWN_APPROVAL_CHARS = 8
_GENERATED_RUN = re.compile(r"run_([0-9a-f]{12})[0-9a-f]{20}")
_WIDE_CELLS = 76
"""Cells from which on a list has room for times and numbers."""


def stderr_console(*, no_color: bool = False) -> Console:
    """The console for progress, notices and hints."""
    return _console(to_stderr=True, no_color=no_color)


def stdout_console(*, no_color: bool = False) -> Console:
    """The console for what was asked for."""
    return _console(to_stderr=False, no_color=no_color)


def _console(*, to_stderr: bool, no_color: bool) -> Console:
    file = sys.stderr if to_stderr else sys.stdout
    console = Console(file=file, markup=False, emoji=False, highlight=False)
    if no_color or console.no_color:  # NO_COLOR; the library alone would still write bold and dim
        console = Console(file=file, markup=False, emoji=False, highlight=False, color_system=None)
    if not console.is_terminal:
        console.width = _UNLIMITED_WIDTH
    return console


def justify_line(console: Console, left_text: Text, right_text: Text) -> Text:
    """One line with `left` at the left and `right` at the right edge; on a terminal `left` gives way."""
    width = available_width(console, right_text)
    line = left_text.copy()
    if console.is_terminal:
        line.truncate(max(width, 8), overflow="ellipsis")
    line.append(" " * (max(width - line.cell_len, 0) + 2))
    return line.append_text(right_text)


def available_width(console: Console, right: Text) -> int:
    """How many cells `spread` has for what stands at the left."""
    return min(console.width, PLAIN_WIDTH if not console.is_terminal else console.width) - right.cell_len - 2


def labeled_table(facts: Mapping[str, str], *, indent: int, width: int) -> Padding:
    """Facts with their labels before them; long ones are wrapped beside the label, not below it."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, min_width=width, style="dim")
    grid.add_column(overflow="fold")
    for label, fact in facts.items():
        grid.add_row(Text(label), Text(fact))
    return Padding(grid, (0, 0, 0, indent), expand=False)


def truncate(text: str, width: int) -> str:
    """The text in at most `width` cells."""
    return text if cell_len(text) <= width else set_cell_size(text, max(width - 1, 0)).rstrip() + "…"


def list_table(
    console: Console,
    lines: Sequence[Mapping[str, Text]],
    justify: Mapping[str, JustifyMethod],
    *,
    narrow_columns: Sequence[str],
    flexible: str,
    min_width: int,
) -> Table:
    """One line each; the `elastic` column takes the room the others leave, and a small terminal shows `narrow` ones."""
    headings = [name for name in justify if console.width >= _WIDE_CELLS or name in narrow_columns]
    fixed = [name for name in headings if name != flexible]
    fixed_width = sum(max(len(name), *(line[name].cell_len for line in lines)) + 2 for name in fixed)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in headings:
        table.add_column(name, no_wrap=True, justify=justify[name])
    for line in lines:
        line[flexible].plain = truncate(line[flexible].plain, max(console.width - fixed_width, min_width))
        table.add_row(*(line[name] for name in headings))
    return table


class StatusStyle(NamedTuple):
    """How a state looks."""

    symbol: str
    text: str
    style: str


STATUS_STYLES: Mapping[str, StatusStyle] = MappingProxyType(
    {
        RunStatus.PENDING: StatusStyle("○", "pending", "dim"),
        RunStatus.RUNNING: StatusStyle("▸", "running", "magenta"),
        RunStatus.WAITING_FOR_TOOL: StatusStyle("◇", "waiting for a tool", "magenta"),
        RunStatus.WAITING_FOR_USER: StatusStyle("◆", "waiting for you", "cyan"),
        RunStatus.REVIEW_REQUIRED: StatusStyle("◆", "review required", "cyan"),
        RunStatus.REVISION_REQUIRED: StatusStyle("◇", "revision required", "cyan"),
        RunStatus.COMPLETED: StatusStyle("✓", "completed", "green"),
        RunStatus.FAILED: StatusStyle("✗", "failed", "red"),
        RunStatus.CANCELLED: StatusStyle("■", "cancelled", "dim"),
    }
)


WAITING_STYLES: Mapping[str, StatusStyle] = MappingProxyType(
    {
        "human_required": StatusStyle("◆", "asks you", "cyan"),
        "budget_exceeded": StatusStyle("◆", "limit reached", "cyan"),
        "stopped": StatusStyle("◇", "stopped", "cyan"),
    }
)
"""What a run waits for, where that is known."""


def get_status_style(status: str, waiting_kind: str | None = None) -> StatusStyle:
    """How a state looks; a run that waits says what for."""
    waiting = WAITING_STYLES.get(waiting_kind or "") if status == RunStatus.WAITING_FOR_USER else None
    return waiting or STATUS_STYLES[status]


def status_text(status: str, waiting_kind: str | None = None) -> Text:
    """A state as a symbol and a word."""
    sign = get_status_style(status, waiting_kind)
    return Text(f"{sign.symbol} {sign.text}", style=sign.style)


class Receipt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a run stands after a decision about it."""

    run_id: str
    status: str
    reason: str = ""
    note: str = ""


def write_receipt(receipt: msgspec.Struct, text: str, next_command: str = "", *, as_json: bool) -> int:
    """Say what happened, and the command that comes next; the exit code is that of success."""
    if as_json:
        write_json(receipt, pretty=False)
        return 0
    sys.stdout.write(f"{readable_line(text)}\n")
    if next_command:
        sys.stdout.flush()
        sys.stderr.write(f"  next: {next_command}\n")
    return 0


def format_duration(milliseconds: float | None) -> str:
    """A span of time as people say it."""
    if milliseconds is None:
        return "-"
    if milliseconds < 1000:
        return f"{milliseconds:.0f} ms"
    seconds = milliseconds / 1000
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {seconds:02d} s"


def format_age(milliseconds: float | None) -> str:
    """A span of time in one number, for tables."""
    if milliseconds is None:
        return "-"
    seconds = max(milliseconds, 0) / 1000
    for unit, size in (("day", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            number = int(seconds / size + 0.5)
            return plural(number, unit) if unit == "day" else f"{number} {unit}"
    return f"{int(seconds)} s"


def format_count(number: int) -> str:
    """A number, short."""
    if number < 1000:
        return str(number)
    return f"{number / 1e3:.1f}k" if number < 999_950 else f"{number / 1e6:.1f}M"


def format_cost(dollars: float) -> str:
    """What something cost; small amounts are not rounded away."""
    return f"${dollars:.2f}" if dollars >= 0.1 else f"${dollars:.4f}"


def plural(number: int, noun: str) -> str:
    """`1 step`, `2 steps`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def milliseconds_between(start: str | None, end: str | None) -> float | None:
    """Milliseconds between two timestamps of a log."""
    start_time, end_time = _parse_time(start), _parse_time(end)
    return (end_time - start_time).total_seconds() * 1000 if start_time and end_time else None


def local_time(timestamp: str | None, *, form: str = "%Y-%m-%d %H:%M") -> str:
    """A timestamp of a log in the time of whoever reads it."""
    at = _parse_time(timestamp)
    return at.astimezone().strftime(form) if at else "-"


def _parse_time(timestamp: str | None) -> datetime | None:
    try:
        at = datetime.fromisoformat(timestamp or "")
    except ValueError:
        return None
    return at if at.tzinfo else None


def write_answer(text: str) -> None:
    """Write the answer, if there is one."""
    if text:
        write_text(text if text.endswith("\n") else f"{text}\n")


def write_text(text: str) -> None:
    """Write text that may come from a model."""
    sys.stdout.write(readable(text))


def write_json(value: Any, *, pretty: bool = True) -> None:
    """Write a value as JSON, with line breaks or on one line."""
    data = msgspec.json.encode(value)
    sys.stdout.flush()
    sys.stdout.buffer.write((msgspec.json.format(data) if pretty else data) + b"\n")


def write_notices(notices: Iterable[str]) -> None:
    """Say what the user should know besides."""
    for notice in notices:
        sys.stderr.write(f"notice: {readable_line(notice)}\n")


def short_id(run_id: str) -> str:
    """An id as people read and type it: of a generated one the part that tells its time, of a chosen one all of it."""
    generated = _GENERATED_RUN.fullmatch(run_id)
    return generated[1] if generated else run_id


def short_approval_id(approval_id: str) -> str:
    """The id of a request as people read and type it."""
    return approval_id.removeprefix(APPROVAL_PREFIX)[:_SHOWN_APPROVAL_CHARS]
