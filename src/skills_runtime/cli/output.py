"""The two consoles, talk on stderr and answers on stdout, and the shapes that commands share."""

import shlex
import sys
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import msgspec
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from skills_runtime.cli.text import short_id
from skills_runtime.config import Origin
from skills_runtime.events.states import RunStatus
from skills_runtime.ports import InboxMessage
from skills_runtime.projections import RunState
from skills_runtime.text import readable_line

PLAIN_WIDTH = 80
_UNBOUNDED = 10_000
"""Wide enough that nothing in a file is ever cut or wrapped."""
_WIDE_SETTINGS = 140


def talk(*, no_color: bool = False) -> Console:
    """The console for progress, notices and hints."""
    return _console(to_stderr=True, no_color=no_color)


def answers(*, no_color: bool = False) -> Console:
    """The console for what was asked for."""
    return _console(to_stderr=False, no_color=no_color)


def _console(*, to_stderr: bool, no_color: bool) -> Console:
    file = sys.stderr if to_stderr else sys.stdout
    console = Console(file=file, markup=False, emoji=False, highlight=False)
    if no_color or console.no_color:  # NO_COLOR; the library alone would still write bold and dim
        console = Console(file=file, markup=False, emoji=False, highlight=False, color_system=None)
    if not console.is_terminal:
        console.width = _UNBOUNDED
    return console


def spread(console: Console, left: Text, right: Text) -> Text:
    """One line with `left` at the left and `right` at the right edge; on a terminal `left` gives way."""
    room = room_beside(console, right)
    line = left.copy()
    if console.is_terminal:
        line.truncate(max(room, 8), overflow="ellipsis")
    line.append(" " * (max(room - line.cell_len, 0) + 2))
    return line.append_text(right)


def room_beside(console: Console, right: Text) -> int:
    """How many cells `spread` has for what stands at the left."""
    return min(console.width, PLAIN_WIDTH if not console.is_terminal else console.width) - right.cell_len - 2


def labelled(facts: Mapping[str, str], *, indent: int, width: int) -> Padding:
    """Facts with their labels before them; long ones are wrapped beside the label, not below it."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, min_width=width, style="dim")
    grid.add_column(overflow="fold")
    for label, fact in facts.items():
        grid.add_row(Text(label), Text(fact))
    return Padding(grid, (0, 0, 0, indent), expand=False)


def cut(text: str, width: int) -> str:
    """The text in at most `width` cells."""
    return text if cell_len(text) <= width else set_cell_size(text, max(width - 1, 0)).rstrip() + "…"


class Sign(NamedTuple):
    """How a state looks."""

    symbol: str
    word: str
    style: str


STATUS: Mapping[str, Sign] = MappingProxyType(
    {
        RunStatus.PENDING: Sign("○", "pending", "dim"),
        RunStatus.RUNNING: Sign("▸", "running", "magenta"),
        RunStatus.WAITING_FOR_TOOL: Sign("◇", "waiting for a tool", "magenta"),
        RunStatus.WAITING_FOR_USER: Sign("◆", "waiting for you", "cyan"),
        RunStatus.REVIEW_REQUIRED: Sign("◆", "review required", "cyan"),
        RunStatus.REVISION_REQUIRED: Sign("◇", "revision required", "cyan"),
        RunStatus.COMPLETED: Sign("✓", "completed", "green"),
        RunStatus.FAILED: Sign("✗", "failed", "red"),
        RunStatus.CANCELLED: Sign("■", "cancelled", "dim"),
    }
)


WAITING: Mapping[str, Sign] = MappingProxyType(
    {
        "human_required": Sign("◆", "asks you", "cyan"),
        "budget_exceeded": Sign("◆", "limit reached", "cyan"),
        "stopped": Sign("◇", "stopped", "cyan"),
    }
)
"""What a run waits for, where that is known."""


def sign_of(status: str, waiting_kind: str | None = None) -> Sign:
    """How a state looks; a run that waits says what for."""
    waiting = WAITING.get(waiting_kind or "") if status == RunStatus.WAITING_FOR_USER else None
    return waiting or STATUS[status]


def signed(status: str, waiting_kind: str | None = None) -> Text:
    """A state as a symbol and a word."""
    sign = sign_of(status, waiting_kind)
    return Text(f"{sign.symbol} {sign.word}", style=sign.style)


class Receipt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a run stands after a decision about it."""

    run_id: str
    status: str
    reason: str = ""
    note: str = ""


def write_receipt(receipt: Receipt | InboxMessage, told: str, following: str = "", *, as_json: bool) -> int:
    """Say what happened, and the command that comes next; the exit code is that of success."""
    if as_json:
        sys.stdout.write(msgspec.json.encode(receipt).decode() + "\n")
        return 0
    sys.stdout.write(f"{readable_line(told)}\n")
    if following:
        sys.stdout.flush()
        sys.stderr.write(f"  next: {following}\n")
    return 0


def when_read(state: RunState) -> str:
    """When a run takes in what was sent to it."""
    if state.status is RunStatus.RUNNING:
        return "it is read at the next turn"
    return "it is read when the run goes on"


def next_command(state: RunState, program: str) -> str:
    """The command that lets a run go on, where nobody works on it."""
    if state.status not in (RunStatus.WAITING_FOR_USER, RunStatus.REVISION_REQUIRED):
        return ""
    return f"{program} runs resume {shlex.quote(short_id(state.run_id))}"


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
        Text(readable_line(one.key), style="bold"),
        Text(readable_line(one.value)),
        Text(readable_line(source), style="dim"),
        Text(readable_line(one.note), style="cyan"),
    )
