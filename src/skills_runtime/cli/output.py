"""Consoles for stdout and stderr, and the formatting of numbers, times, states and tables."""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from skills_runtime.cli.language import translate, translate_status
from skills_runtime.cli.marks import adapt_marks, to_ascii_marks
from skills_runtime.events import RunStatus
from skills_runtime.text import readable, readable_line

PLAIN_WIDTH = 80
_UNLIMITED_WIDTH = 10_000
"""Wide enough that output to a file is never truncated or wrapped."""
APPROVAL_PREFIX = "approval_"
"""Prefix of approval request ids."""
_SHOWN_APPROVAL_CHARS = 8
_GENERATED_RUN = re.compile(r"run_([0-9a-f]{12})[0-9a-f]{20}")
_READABLE_CELLS = 32
"""Lists drop columns from the right until the flexible one has this width."""


def stderr_console(*, no_color: bool = False) -> Console:
    """Create the console for progress, notices and hints."""
    return _console(to_stderr=True, no_color=no_color)


def stdout_console(*, no_color: bool = False) -> Console:
    """Create the console for results."""
    return _console(to_stderr=False, no_color=no_color)


def _console(*, to_stderr: bool, no_color: bool) -> Console:
    file = adapt_marks(sys.stderr if to_stderr else sys.stdout)
    console = Console(file=file, markup=False, emoji=False, highlight=False)
    if no_color or console.no_color:  # NO_COLOR; the library alone would still write bold and dim
        console = Console(file=file, markup=False, emoji=False, highlight=False, color_system=None)
    if not console.is_terminal:
        console.width = _UNLIMITED_WIDTH
    return console


def justify_line(console: Console, left_text: Text, right_text: Text) -> Text:
    """Join two texts at the left and right edge of a line; truncate the left one on a terminal."""
    width = available_width(console, right_text)
    line = left_text.copy()
    if console.is_terminal:
        line.truncate(max(width, 8), overflow="ellipsis")
    line.append(" " * (max(width - line.cell_len, 0) + 2))
    return line.append_text(right_text)


def available_width(console: Console, right: Text) -> int:
    """Return how many cells `justify_line` has for the left text."""
    return min(console.width, PLAIN_WIDTH if not console.is_terminal else console.width) - right.cell_len - 2


@dataclass(frozen=True, slots=True)
class Unpadded:
    """Render something without blanks at the ends of its lines."""

    renderable: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        """Yield the segments of each line up to its last visible character."""
        for line in console.render_lines(self.renderable, options, pad=False):
            segments = list(line)
            while segments and not segments[-1].text.strip():
                segments.pop()
            if segments:
                last = segments.pop()
                segments.append(Segment(last.text.rstrip(), last.style, last.control))
            yield from segments
            yield Segment.line()


def labeled_table(facts: Mapping[str, str], *, indent: int, width: int) -> Unpadded:
    """Render facts with labels; long facts wrap beside the label, not below it."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, min_width=width, style="dim")
    grid.add_column(overflow="fold")
    for label, fact in facts.items():
        grid.add_row(Text(label), Text(fact))
    return Unpadded(Padding(grid, (0, 0, 0, indent), expand=False))


def truncate(text: str, width: int) -> str:
    """Truncate a text to `width` cells."""
    return text if cell_len(text) <= width else set_cell_size(text, max(width - 1, 0)).rstrip() + "…"


def list_table(
    console: Console,
    lines: Sequence[Mapping[str, Text]],
    justify: Mapping[str, JustifyMethod],
    *,
    narrow_columns: Sequence[str],
    flexible: str,
    min_width: int,
) -> Unpadded:
    """Build a table whose `flexible` column takes the remaining width.

    Columns that are not in `narrow_columns` are dropped, last first, until that width is readable.
    """
    if console.encoding == "ascii":  # before widths are measured
        lines = [
            {name: Text(to_ascii_marks(cell.plain), style=cell.style) for name, cell in line.items()} for line in lines
        ]
    widths = {name: max(len(name), *(line[name].cell_len for line in lines)) + 2 for name in justify}

    def remaining_width(names: Sequence[str]) -> int:
        return console.width - sum(widths[name] for name in names if name != flexible)

    headings = list(justify)
    droppable = [name for name in headings if name not in narrow_columns and name != flexible]
    while droppable and remaining_width(headings) < min(_READABLE_CELLS, widths[flexible]):
        headings.remove(droppable.pop())
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in headings:
        table.add_column(name, no_wrap=True, justify=justify[name])
    for line in lines:
        line[flexible].plain = truncate(line[flexible].plain, max(remaining_width(headings), min_width))
        table.add_row(*(line[name] for name in headings))
    return Unpadded(table)


class StatusStyle(NamedTuple):
    """Symbol, text and color of a status."""

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
"""Styles by what a run waits for."""


def get_status_style(status: str, waiting_kind: str | None = None) -> StatusStyle:
    """Return the style of a status, by what the run waits for where that is recorded."""
    waiting = WAITING_STYLES.get(waiting_kind or "") if status == RunStatus.WAITING_FOR_USER else None
    if waiting:
        return waiting._replace(text=translate(f"waiting.{waiting_kind}", waiting.text))
    style = STATUS_STYLES[status]
    return style._replace(text=translate_status(status, style.text))


def status_text(status: str, waiting_kind: str | None = None) -> Text:
    """Render a status as a symbol and a word."""
    sign = get_status_style(status, waiting_kind)
    return Text(f"{sign.symbol} {sign.text}", style=sign.style)


class Receipt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The status of a run after a command."""

    run_id: str
    status: str
    reason: str = ""
    note: str = ""


def write_receipt(receipt: msgspec.Struct, text: str, next_command: str = "", *, as_json: bool) -> int:
    """Print the result and the next command; return 0."""
    if as_json:
        write_json(receipt, pretty=False)
        return 0
    sys.stdout.write(f"{readable_line(text)}\n")
    if next_command:
        sys.stdout.flush()
        sys.stderr.write(translate("next.line", "  next: {command}", command=next_command) + "\n")
    return 0


def format_duration(milliseconds: float | None) -> str:
    """Format a duration."""
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
    """Format a duration as one number, for tables."""
    if milliseconds is None:
        return "-"
    seconds = max(milliseconds, 0) / 1000
    for unit, size in (("day", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            number = int(seconds / size + 0.5)
            days = "{number, plural, one {# day} other {# days}}"
            return translate("age.days", days, number=number) if unit == "day" else f"{number} {unit}"
    return f"{int(seconds)} s"


def format_count(number: int) -> str:
    """Format a number with at most five characters."""
    if number < 1000:
        return str(number)
    return f"{number / 1e3:.1f}k" if number < 999_950 else f"{number / 1e6:.1f}M"


def format_cost(dollars: float | None) -> str:
    """Format an amount in dollars; small amounts keep four decimals."""
    if dollars is None:
        return "cost unknown"
    return f"${dollars:.2f}" if dollars >= 0.1 else f"${dollars:.4f}"


def plural(number: int, noun: str) -> str:
    """Format a number with its noun: `1 step`, `2 steps`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def milliseconds_between(start: str | None, end: str | None) -> float | None:
    """Return the milliseconds between two timestamps."""
    start_time, end_time = _parse_time(start), _parse_time(end)
    return (end_time - start_time).total_seconds() * 1000 if start_time and end_time else None


def local_time(timestamp: str | None, *, form: str = "%Y-%m-%d %H:%M") -> str:
    """Format a timestamp in the local time zone."""
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
    """Print notices to stderr."""
    for notice in notices:
        sys.stderr.write(notice_line(readable_line(notice)) + "\n")


def notice_line(text: str) -> str:
    """Format a notice."""
    return translate("notice.line", "notice: {text}", text=text)


def short_id(run_id: str) -> str:
    """Shorten a generated run id to its time part; return other ids unchanged."""
    generated = _GENERATED_RUN.fullmatch(run_id)
    return generated[1] if generated else run_id


def short_approval_id(approval_id: str) -> str:
    """Shorten the id of an approval request."""
    return approval_id.removeprefix(APPROVAL_PREFIX)[:_SHOWN_APPROVAL_CHARS]
