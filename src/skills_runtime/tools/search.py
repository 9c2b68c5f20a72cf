"""Finds the lines of a text that match a pattern, in time that no pattern can make long.

The engine is RE2, which never backtracks. Its time still grows with the size of the pattern, so one search is never
given more text than it surely gets through in a fraction of a second.
"""

from collections.abc import Iterator
from typing import Any, Protocol, cast

import msgspec

from skills_runtime.errors import ToolError

MAX_PROGRAM = 10_000
MAX_WORK = 20_000_000
MIN_PIECE = 4096


class Hit(msgspec.Struct, frozen=True):
    """One line that matches, and its number."""

    line: int
    text: bytes


class Piece(msgspec.Struct, frozen=True):
    """Whole lines of a text, or the beginning of one that is too long, and the number of the first."""

    line: int
    data: bytes
    is_cut: bool = False


class _Match(Protocol):
    def start(self) -> int: ...


class _Expression(Protocol):
    programsize: int
    reverseprogramsize: int

    def search(self, text: bytes, pos: int = 0) -> _Match | None: ...


class Pattern:
    """A pattern in RE2's syntax; it never matches across lines."""

    def __init__(self, text: str) -> None:
        self._expression = _compiled(text)
        size = self._expression.programsize + self._expression.reverseprogramsize
        if size > MAX_PROGRAM:
            raise ToolError("validation", "the pattern is too large", hint="repeat less in it")
        self._piece_bytes = max(MAX_WORK // max(size, 1), MIN_PIECE)

    def pieces(self, text: bytes) -> Iterator[Piece]:
        """The text in portions that one search can take."""
        place, line = 0, 1
        while place < len(text):
            limit = place + self._piece_bytes
            end = len(text) if limit >= len(text) else text.rfind(b"\n", place, limit) + 1
            is_cut = end <= place
            data = text[place : limit if is_cut else end]
            yield Piece(line, data, is_cut)
            if is_cut:
                end = text.find(b"\n", limit) + 1 or len(text)
                line += 1
            else:
                line += data.count(b"\n")
            place = end

    def hits(self, piece: Piece) -> Iterator[Hit]:
        """The lines that match, each once."""
        data, line = piece.data, piece.line
        place = counted = 0
        while place < len(data) and (match := self._expression.search(data, place)):
            begin = data.rfind(b"\n", 0, match.start()) + 1
            if begin == len(data):
                return  # behind the last line
            end = data.find(b"\n", match.start())
            end = len(data) if end < 0 else end
            line += data.count(b"\n", counted, begin)
            yield Hit(line, data[begin:end])
            counted, place = begin, end + 1


def _compiled(text: str) -> _Expression:
    import re2

    engine = cast("Any", re2)
    options = engine.Options()
    options.never_nl = options.never_capture = True
    options.log_errors = False
    try:
        return engine.compile(f"(?m){text}", options)
    except engine.error as error:
        reason = error.args[0].decode(errors="replace") if error.args else "it cannot be read"
        raise ToolError(
            "validation",
            f"the pattern is not a regular expression: {reason}",
            hint="use RE2 syntax, which has no look-around and no back-references; put \\ before special characters",
        ) from error
