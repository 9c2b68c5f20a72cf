"""The two consoles: talk goes to stderr, answers go to stdout; colours only where somebody looks."""

import sys
from collections.abc import Mapping

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

PLAIN_WIDTH = 80
_UNBOUNDED = 10_000
"""Wide enough that nothing in a file is ever cut or wrapped."""


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
