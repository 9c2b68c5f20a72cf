"""Finds the front matter of a file: what stands between two lines of `---`, and where the body begins.

Pure, and for any bytes. Dashes inside a line or behind spaces are part of a value and end nothing.
"""

import re

import msgspec

from skills_runtime.skills.standard.findings import Diagnostic, Mode, found

FENCE_BYTES = 8192
"""More than what may stand before a front matter, and the two lines around it."""

_MARK = b"\xef\xbb\xbf"
_BEFORE = 4096
"""How far into a file a lenient reader looks for a front matter that should have come first."""
_OPENING = re.compile(rb"---[ \t]{0,16}(?:\r\n|\n|\r)")
_CLOSING = re.compile(rb"^---[ \t]{0,16}(?:\r\n|\n|\r|\Z)", re.MULTILINE)
_OLD_CLOSING = re.compile(rb"\r---[ \t]{0,16}(?:\r|\Z)")
"""The same where lines end as they did on old machines."""
_NEARLY_OPENING = re.compile(rb"-{3,16}[ \t]{0,16}(?:\r\n|\n|\r)")
_NEARLY_CLOSING = re.compile(
    rb"^[ \t]{0,3}(?:-{3,16}|\.\.\.)[ \t]{0,16}(?:\r\n|\n|\r|\Z)|^---(?=[^-\r\n])", re.MULTILINE
)
"""Lines that were meant to be fences."""
_SPACE = b" \t\r\n"


class Split(msgspec.Struct, frozen=True):
    """Where the front matter and the body of a file are."""

    start: int
    end: int
    body_start: int
    first_line: int = 2
    """The line of the file that the front matter begins on."""
    notes: tuple[Diagnostic, ...] = ()


def split(data: bytes, mode: Mode, *, max_bytes: int) -> Split | Diagnostic:
    """The parts of a file; `data` need not hold much more than `max_bytes` of it."""
    mark = len(_MARK) if data.startswith(_MARK) else 0
    start = mark if mode == "strict" or data.startswith(b"---", mark) else _beginning(data, mark)
    exactly = _OPENING.match(data, start)
    opening = exactly or (_NEARLY_OPENING.match(data, start) if mode == "lenient" else None)
    if opening is None:
        return found("frontmatter_missing", mode, "`SKILL.md` must start with YAML frontmatter", line=1)
    notes: list[Diagnostic] = []
    if mark:
        notes.append(found("byte_order_mark", mode, "the file begins with a byte order mark", line=1))
    line = 1 + data.count(b"\n", 0, start)
    if exactly is None:
        notes.append(found("frontmatter_fence", mode, "the front matter begins with more than `---`", line=line))
    if start > mark:
        notes.append(found("frontmatter_moved", mode, "something stands before the front matter", line=line))
    closing = _closing(data, opening.end(), mode)
    if (closing[0] if closing else len(data)) - opening.end() > max_bytes:
        return found("frontmatter_too_long", mode, f"the front matter is longer than {max_bytes} bytes", line=line)
    if closing is None:
        return found("frontmatter_unclosed", mode, "the frontmatter is not properly closed with `---`", line=line)
    end, body_start, exact = closing
    if not exact:
        where = line + 1 + data.count(b"\n", opening.end(), end)
        notes.append(found("frontmatter_fence", mode, "the front matter ends with something like `---`", line=where))
    return Split(opening.end(), end, body_start, line + 1, tuple(notes))


def _closing(data: bytes, start: int, mode: Mode) -> tuple[int, int, bool] | None:
    """Where the front matter ends, where the body begins, and whether the line between is exactly right."""
    closing = _CLOSING.search(data, start)
    if closing is not None:
        return closing.start(), closing.end(), True
    old = _OLD_CLOSING.search(data, start - 1)
    if old is not None:
        return max(old.start() + 1, start), old.end(), True
    nearly = _NEARLY_CLOSING.search(data, start) if mode == "lenient" else None
    return (nearly.start(), nearly.end(), False) if nearly is not None else None


def _beginning(data: bytes, start: int) -> int:
    """Where a front matter may begin after empty lines, comments and fences of code; `start` when it does not."""
    end = min(len(data), start + _BEFORE)
    place = start
    while place < end:
        if data[place] in _SPACE:
            place += 1
        elif data.startswith(b"<!--", place):
            close = data.find(b"-->", place, end)
            if close < 0:
                return start
            place = close + 3
        elif data.startswith(b"```", place) and (line := data.find(b"\n", place, end)) > 0:
            place = line + 1
        else:
            break
    begins_line = place > start and data[place - 1] in b"\r\n"
    return place if begins_line and data.startswith(b"---", place) else start
