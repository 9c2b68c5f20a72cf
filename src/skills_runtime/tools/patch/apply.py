"""Applies a patch: where its hunks fit, the files it makes, and what comes nearest to lines that were not found.

Pure: files are given and returned as bytes.
"""

import difflib
import hashlib
import itertools
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import msgspec

from skills_runtime.errors import ToolError
from skills_runtime.ports import FileChange
from skills_runtime.tools.patch.parse import AddFile, DeleteFile, Hunk, Section, UpdateFile

MAX_LINES = 2000
MAX_CHARS = 120
MAX_PLACES = 50
SHOWN_LINES = 6


def nearest(lines: Sequence[bytes], wanted: Sequence[bytes]) -> str:
    """One sentence and a few numbered lines of the file."""
    if not lines:
        return "the file is empty"
    start = _most_alike(lines, wanted)
    if start is None:
        return f"no line is like `{_text(_first_telling(wanted))}`"
    for index, line in enumerate(wanted):
        place = start + index
        found = _text(lines[place]) if 0 <= place < len(lines) else None
        if found != _text(line):
            there = "the file ends" if found is None else f"the file has `{found}`"
            return f"at line {place + 1} {there} where the patch has `{_text(line)}`\n{_numbered(lines, start)}"
    return f"line {start + 1} comes nearest\n{_numbered(lines, start)}"


def _most_alike(lines: Sequence[bytes], wanted: Sequence[bytes]) -> int | None:
    """Where most of the wanted lines stand where they should; else where a line is like the first telling one."""
    places: dict[bytes, list[int]] = {}
    for number, line in enumerate(lines):
        found = places.setdefault(line.strip(), [])
        if len(found) < MAX_PLACES:
            found.append(number)
    votes = Counter(
        place - index
        for index, line in enumerate(wanted)
        if line.strip()
        for place in places.get(line.strip(), ())
        if place >= index
    )
    if votes:
        return min(votes, key=lambda start: (-votes[start], start))
    telling = _first_telling(wanted)
    texts = [_text(line) for line in lines[:MAX_LINES]]
    close = difflib.get_close_matches(_text(telling), texts, n=1)
    return max(texts.index(close[0]) - list(wanted).index(telling), 0) if close else None


def _first_telling(wanted: Sequence[bytes]) -> bytes:
    return next((line for line in wanted if line.strip()), wanted[0])


def _numbered(lines: Sequence[bytes], start: int) -> str:
    shown = range(max(start - 1, 0), min(start + SHOWN_LINES, len(lines)))
    return "\n".join(f"L{number + 1}: {_text(lines[number])}" for number in shown)


def _text(line: bytes) -> str:
    text = line.rstrip(b"\r\n").decode(errors="replace")
    return text if len(text) <= MAX_CHARS else f"{text[:MAX_CHARS]}…"


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


class Change(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What the result of a patch says about one file."""

    kind: Literal["add", "update", "delete"]
    path: str
    moved_to: str | None = None
    added: int
    removed: int


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The files to be, in the order of the patch, and the same in words."""

    files: tuple[FileChange, ...]
    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()


def paths_to_read(sections: Sequence[Section]) -> list[str]:
    """The files whose content the plan needs, each once."""
    return list(dict.fromkeys(section.path for section in sections if not isinstance(section, AddFile)))


def make_plan(sections: Sequence[Section], contents: Mapping[str, bytes]) -> Plan:
    """What becomes of each file; the contents are those of `paths_to_read`."""
    draft = _Draft(contents)
    for section in sections:
        match section:
            case AddFile():
                draft.add(section)
            case DeleteFile():
                draft.delete(section)
            case UpdateFile():
                draft.update(section)
    return Plan(files=tuple(draft.files.values()), changes=tuple(draft.changes.values()), notes=tuple(draft.notes))


class _Draft:
    """The plan as far as it has been made."""

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        self.files: dict[str, FileChange] = {}
        self.changes: dict[str, Change] = {}
        self.notes: list[str] = []
        self._contents = contents

    def add(self, section: AddFile) -> None:
        """Plan a new file, which ends with a newline unless the patch says otherwise."""
        self._check_new(section.path)
        data = b"".join(line.text + b"\n" * line.terminated for line in section.lines)
        self.files[section.path] = FileChange(path=section.path, before_sha256=None, data=data)
        self.changes[section.path] = Change(kind="add", path=section.path, added=len(section.lines), removed=0)

    def delete(self, section: DeleteFile) -> None:
        """Plan to take a file away."""
        self._check_new(section.path)
        before = self._contents[section.path]
        self.files[section.path] = FileChange(path=section.path, before_sha256=_digest(before), data=None)
        self.changes[section.path] = Change(kind="delete", path=section.path, added=0, removed=len(split_lines(before)))

    def update(self, section: UpdateFile) -> None:
        """Plan to change a file; a second update of it goes on where the first one ended."""
        path, before = section.path, self._contents[section.path]
        earlier = self.changes.get(path)
        if earlier is None:
            earlier = Change(kind="update", path=path, added=0, removed=0)
        elif earlier.kind != "update" or earlier.moved_to is not None:
            raise _twice(path)
        base = self.files[path].data if path in self.files else None
        result = patched(before if base is None else base, section.hunks, path)
        self.notes += result.notes
        earlier.added += sum(hunk.count("+") for hunk in section.hunks)
        earlier.removed += sum(hunk.count("-") for hunk in section.hunks)
        earlier.moved_to = section.moved_to if section.moved_to != path else None
        self.changes[path] = earlier
        self.files[path] = FileChange(
            path=path, before_sha256=_digest(before), data=result.data, moved_to=earlier.moved_to
        )

    def _check_new(self, path: str) -> None:
        if path in self.changes:
            raise _twice(path)


def _twice(path: str) -> ToolError:
    return ToolError(
        "validation", f"the patch says different things about `{path}`", hint="name each file once in a patch"
    )


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
