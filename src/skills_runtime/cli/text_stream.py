"""Wrap text while it arrives: rows that cannot change any more, and the growing one."""

from rich.console import Console
from rich.text import Text

from skills_runtime.text import readable

_TAB = "    "


class TextStream:
    """Turns pieces of text into rows that fit a console."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.partial = ""
        """The end of the text, which fits one row and is not returned yet."""

    def feed(self, piece: str) -> list[str]:
        """Add a piece of text; return the rows that are complete now."""
        *lines, last = (self.partial + readable(piece).replace("\t", _TAB)).split("\n")
        rows = [row for line in lines for row in self._wrap(line)]
        *complete, self.partial = self._wrap(last)
        return [*rows, *complete]

    def flush(self) -> list[str]:
        """Return the last row, if the text did not end with a line break."""
        partial, self.partial = self.partial.rstrip(), ""
        return [partial] if partial else []

    def _wrap(self, line: str) -> list[str]:
        """Split a line into rows; the last one keeps its blanks, because more may follow."""
        rows, start = list[str](), 0
        for row in Text(line).wrap(self._console, self._console.width)[:-1]:
            text = row.plain.rstrip()
            end = line.index(text, start) + len(text)
            rows.append(line[start:end])
            start = end + len(line[end:]) - len(line[end:].lstrip(" "))
        return [*rows, line[start:]]
