"""Where hunks fit in a file, and the file they make of it.

Pure, and in time linear in the size of the file.
Every byte outside the lines a hunk drops or adds stays: line endings, a byte order mark, a missing final newline.
"""

import itertools
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Sequence

import msgspec

from skills_runtime.errors import ToolError
from skills_runtime.tools.patch.nearest import nearest
from skills_runtime.tools.patch.parse import Hunk

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_BLANKS = b" \t\r\f\v"


class Patched(msgspec.Struct, frozen=True):
    """The new content, and what the author of the patch should know."""

    data: bytes
    notes: tuple[str, ...] = ()


def patched(data: bytes, hunks: Sequence[Hunk], path: str) -> Patched:
    """The content after every hunk; one that fits nowhere is an error that says what comes nearest."""
    mark = BYTE_ORDER_MARK if data.startswith(BYTE_ORDER_MARK) else b""
    target = _Target(split_lines(data[len(mark) :]), path)
    for hunk in hunks:
        target.apply(hunk)
    return Patched(mark + target.result(), tuple(target.notes))


def split_lines(data: bytes) -> list[bytes]:
    """The lines with their line feeds; the last one may have none."""
    *lines, last = data.split(b"\n")
    return [line + b"\n" for line in lines] + ([last] if last else [])


def ending(line: bytes) -> bytes:
    """How the line ends: a line feed, perhaps behind a carriage return, or nothing."""
    if line.endswith(b"\r\n"):
        return b"\r\n"
    return b"\n" if line.endswith(b"\n") else b""


def _bare(line: bytes) -> bytes:
    return line.removesuffix(b"\n")


def _plain(line: bytes) -> bytes:
    return line.removesuffix(ending(line))


def _trimmed(line: bytes) -> bytes:
    return _plain(line).rstrip(_BLANKS)


class _Index:
    """The lines of a file in one spelling, in which runs of lines are found in linear time."""

    def __init__(self, lines: Sequence[bytes], spelling: Callable[[bytes], bytes]) -> None:
        keys = [spelling(line) for line in lines]
        self._text = b"".join(b"\n" + key for key in keys) + b"\n"
        self._starts = [0, *itertools.accumulate(len(key) + 1 for key in keys)]

    def find(self, run: Sequence[bytes], start: int) -> int | None:
        """The first line at or after `start` where the run begins."""
        found = self._text.find(_needle(run), self._starts[start])
        return None if found < 0 else bisect_left(self._starts, found)

    def ends_with(self, run: Sequence[bytes]) -> bool:
        """Whether the run is the end of the file."""
        return self._text.endswith(_needle(run))


def _needle(run: Sequence[bytes]) -> bytes:
    return b"".join(b"\n" + key for key in run) + b"\n"


class _Target:
    """A file while hunks are applied to it, from its top to its bottom."""

    def __init__(self, lines: list[bytes], path: str) -> None:
        self.notes: list[str] = []
        self._lines = lines
        self._path = path
        self._done = 0
        self._out: list[bytes] = []
        self._tail: list[bytes] = []
        self._indexes: dict[Callable[[bytes], bytes], _Index] = {}

    def apply(self, hunk: Hunk) -> None:
        """Find the place of the hunk and write what it makes of it."""
        old = hunk.old
        if not old and (hunk.at_end or not hunk.headers):
            self._tail += _rewritten(hunk, self._lines, len(self._lines))
            return
        start = self._place(hunk, old)
        self._out += self._lines[self._done : start]
        self._out += _rewritten(hunk, self._lines, start)
        self._done = start + len(old)

    def result(self) -> bytes:
        """The whole file; a last line that got a successor ends like the lines before it."""
        lines = self._out + self._lines[self._done :] + self._tail
        inner = [line if line.endswith(b"\n") else line + _usual(self._lines) for line in lines[:-1]]
        return b"".join(inner + lines[-1:])

    def _index(self, spelling: Callable[[bytes], bytes]) -> _Index:
        if spelling not in self._indexes:
            self._indexes[spelling] = _Index(self._lines, spelling)
        return self._indexes[spelling]

    def _place(self, hunk: Hunk, old: Sequence[bytes]) -> int:
        start = self._below_headers(hunk)
        if not old:
            return start
        exact = self._find(hunk, old, _bare if hunk.spells_endings else _plain, start)
        if exact is not None:
            return exact
        trimmed = [_trimmed(line) for line in old]
        tolerant = self._find(hunk, trimmed, _trimmed, start)
        if tolerant is None:
            raise self._mismatch(hunk, start)
        other = None if hunk.at_end else self._index(_trimmed).find(trimmed, tolerant + 1)
        if other is not None:
            raise ToolError(
                "validation",
                f"hunk {hunk.number} of `{self._path}` fits nowhere exactly, but for blanks at line ends it fits both"
                f" line {tolerant + 1} and line {other + 1}",
                hint="copy the lines exactly, or add lines around them",
            )
        self.notes.append(f"hunk {hunk.number} of {self._path}: blanks at line ends differ from the file's, and stay")
        return tolerant

    def _find(self, hunk: Hunk, run: Sequence[bytes], spelling: Callable[[bytes], bytes], start: int) -> int | None:
        index = self._index(spelling)
        if hunk.at_end:
            place = len(self._lines) - len(run)
            return place if place >= start and index.ends_with(run) else None
        found = index.find(run, start)
        if found is not None and spelling is not _trimmed:
            other = index.find(run, found + 1)
            if other is not None:
                self.notes.append(
                    f"hunk {hunk.number} of {self._path}: used at line {found + 1}, the first of several places it fits"
                )
        return found

    def _below_headers(self, hunk: Hunk) -> int:
        """The line below the last header; each is looked for below the one before."""
        start = self._done
        for header in hunk.headers:
            found = self._index(_plain).find([header], start)
            if found is None:
                found = self._index(_stripped).find([header.strip()], start)
            if found is None:
                text = header.decode(errors="replace")
                below = f" below line {start}" if start else ""
                raise ToolError(
                    "validation",
                    f"hunk {hunk.number} of `{self._path}`: there is no line `{text}`{below}",
                    hint="put a whole line of the file behind `@@`, or nothing",
                )
            start = found + 1
        return start

    def _mismatch(self, hunk: Hunk, start: int) -> ToolError:
        where = f"hunk {hunk.number} of `{self._path}` does not match"
        earlier = self._index(_trimmed).find([_trimmed(line) for line in hunk.old], 0)
        if earlier is not None and not hunk.at_end:
            return ToolError(
                "validation",
                f"{where} below line {start}, only at line {earlier + 1}",
                hint="put the hunks in the order of the file, and `@@` lines only above their hunks",
            )
        return ToolError("validation", f"{where}: {nearest(self._lines, hunk.old)}", hint="read the file again")


def _stripped(line: bytes) -> bytes:
    return line.strip()


def _rewritten(hunk: Hunk, lines: Sequence[bytes], start: int) -> list[bytes]:
    """What the hunk makes of the lines from `start`; an added line ends like the one it replaces or follows."""
    old = iter(lines[start : start + len(hunk.old)])
    out: list[bytes] = []
    dropped = deque[bytes]()
    last = ending(lines[max(start - 1, 0)]) if lines else b""
    last = last or _usual(lines)
    for line in hunk.lines:
        if line.side == "+":
            last = dropped.popleft() if dropped else last
            out.append(line.text + (b"\n" if hunk.spells_endings else last) * line.terminated)
            continue
        found = next(old)
        if line.side == "-":
            dropped.append(ending(found) or last)
        else:
            dropped.clear()
            last = ending(found) or last
            out.append(found)
    if _ends_open(hunk, lines, start):
        out[-1] = _plain(out[-1])
    return out


def _ends_open(hunk: Hunk, lines: Sequence[bytes], start: int) -> bool:
    """Whether the hunk adds the new end of a file that has no final newline, and does not say that it shall get one."""
    is_open = bool(lines) and not ending(lines[-1]) and start + len(hunk.old) == len(lines)
    sides = [line.side for line in hunk.lines if line.side != "-"]
    return is_open and sides[-1:] == ["+"] and all(line.terminated for line in hunk.lines)


def _usual(lines: Sequence[bytes]) -> bytes:
    """How a new line at the end of the file should end."""
    return next((end for line in reversed(lines) if (end := ending(line))), b"\n")
