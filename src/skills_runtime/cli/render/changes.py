"""What a call would do to files, as people read changes: one heading for each file, and the lines that come and go.

Pure.
"""

from typing import NamedTuple

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from skills_runtime.cli.render.text import neutral, one_line, plural
from skills_runtime.ports import FileTouch

_HEADINGS = ("--- ", "+++ ")
_STYLES = {"+": "green", "-": "red", "@": "cyan"}


class Shown(NamedTuple):
    """Lines, and how many there would be more."""

    lines: list[RenderableType]
    left_out: int = 0


def change_lines(files: tuple[FileTouch, ...], *, indent: int, limit: int | None = None) -> Shown:
    """Every file with its changes, which are cut after `limit` lines altogether."""
    lines: list[RenderableType] = []
    left_out, room = 0, limit
    for file in files:
        changes = _changes(file)
        shown = changes if room is None else changes[:room]
        room = None if room is None else room - len(shown)
        left_out += len(changes) - len(shown)
        lines.append(_indented(_heading(file, changes), indent))
        lines += [_indented(_coloured(line), indent + 2) for line in shown]
    if left_out:
        lines.append(_indented(Text(f"… {plural(left_out, 'more line')}", style="dim"), indent + 2))
    return Shown(lines, left_out)


def _changes(file: FileTouch) -> list[str]:
    """The lines of a change without the names above it, which the heading tells."""
    lines = file.diff.split("\n") if file.diff else []
    named = len(lines) > 1 and all(line.startswith(mark) for line, mark in zip(lines, _HEADINGS, strict=False))
    return lines[2:] if named else lines


def _heading(file: FileTouch, changes: list[str]) -> Text:
    come, go = (sum(line.startswith(mark) for line in changes) for mark in "+-")
    counts = [(f"  +{come}", "green")] if come else []
    counts += [(f"  -{go}", "red")] if go else []
    return Text.assemble((file.touch, "bold"), f" {one_line(file.path)}", *counts)


def _coloured(line: str) -> Text:
    return Text(neutral(line), style=_STYLES.get(line[:1], ""), overflow="fold")


def _indented(text: Text, indent: int) -> RenderableType:
    return Padding(text, (0, 0, 0, indent), expand=False)
