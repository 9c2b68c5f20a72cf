"""Apply a patch: locate its hunks, plan the changed files and describe near misses.

Pure: files are passed and returned as bytes.
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
MAX_MATCHES = 50
SHOWN_LINES = 6


def describe_nearest(lines: Sequence[bytes], expected: Sequence[bytes]) -> str:
    """Describe the closest match in one sentence and a few numbered lines."""
    if not lines:
        return "the file is empty"
    start = _find_closest(lines, expected)
    if start is None:
        return f"no line resembles `{_text(_first_nonblank(expected))}`"
    for index, line in enumerate(expected):
        position = start + index
        actual = _text(lines[position]) if 0 <= position < len(lines) else None
        if actual != _text(line):
            difference = "the file ends" if actual is None else f"the file has `{actual}`"
            mismatch = f"at line {position + 1} {difference} where the patch has `{_text(line)}`"
            return f"{mismatch}\n{_render_numbered(lines, start)}"
    return f"line {start + 1} is the closest match\n{_render_numbered(lines, start)}"


def _find_closest(lines: Sequence[bytes], expected: Sequence[bytes]) -> int | None:
    """Return the start where most expected lines match; else where a line resembles the first nonblank one."""
    positions: dict[bytes, list[int]] = {}
    for number, line in enumerate(lines):
        numbers = positions.setdefault(line.strip(), [])
        if len(numbers) < MAX_MATCHES:
            numbers.append(number)
    votes = Counter(
        position - index
        for index, line in enumerate(expected)
        if line.strip()
        for position in positions.get(line.strip(), ())
        if position >= index
    )
    if votes:
        return min(votes, key=lambda start: (-votes[start], start))
    distinctive = _first_nonblank(expected)
    texts = [_text(line) for line in lines[:MAX_LINES]]
    close = difflib.get_close_matches(_text(distinctive), texts, n=1)
    return max(texts.index(close[0]) - list(expected).index(distinctive), 0) if close else None


def _first_nonblank(expected: Sequence[bytes]) -> bytes:
    return next((line for line in expected if line.strip()), expected[0])


def _render_numbered(lines: Sequence[bytes], start: int) -> str:
    numbers = range(max(start - 1, 0), min(start + SHOWN_LINES, len(lines)))
    return "\n".join(f"L{number + 1}: {_text(lines[number])}" for number in numbers)


def _text(line: bytes) -> str:
    text = line.rstrip(b"\r\n").decode(errors="replace")
    return text if len(text) <= MAX_CHARS else f"{text[:MAX_CHARS]}…"


BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_BLANKS = b" \t\r\f\v"


class PatchResult(msgspec.Struct, frozen=True):
    """The new content, and notes for the author of the patch."""

    data: bytes
    notes: tuple[str, ...] = ()


def apply_hunks(data: bytes, hunks: Sequence[Hunk], path: str) -> PatchResult:
    """Apply every hunk to the content; raise with the closest match if one does not fit."""
    mark = BYTE_ORDER_MARK if data.startswith(BYTE_ORDER_MARK) else b""
    target = _Target(split_lines(data[len(mark) :]), path)
    for hunk in hunks:
        target.apply(hunk)
    return PatchResult(mark + target.result(), tuple(target.notes))


def split_lines(data: bytes) -> list[bytes]:
    """Split into lines that keep their line feed; the last one may have none."""
    *lines, last = data.split(b"\n")
    return [line + b"\n" for line in lines] + ([last] if last else [])


def line_ending(line: bytes) -> bytes:
    """Return the line ending: CRLF, LF or nothing."""
    if line.endswith(b"\r\n"):
        return b"\r\n"
    return b"\n" if line.endswith(b"\n") else b""


def _without_newline(line: bytes) -> bytes:
    return line.removesuffix(b"\n")


def _without_ending(line: bytes) -> bytes:
    return line.removesuffix(line_ending(line))


def _trim_blanks(line: bytes) -> bytes:
    return _without_ending(line).rstrip(_BLANKS)


class _Index:
    """Lines of a file under one normalization, in which a sequence is found in linear time."""

    def __init__(self, lines: Sequence[bytes], spelling: Callable[[bytes], bytes]) -> None:
        keys = [spelling(line) for line in lines]
        self._text = b"".join(b"\n" + key for key in keys) + b"\n"
        self._starts = [0, *itertools.accumulate(len(key) + 1 for key in keys)]

    def find(self, run: Sequence[bytes], start: int) -> int | None:
        """Return the first line at or after `start` where the sequence begins."""
        position = self._text.find(_needle(run), self._starts[start])
        return None if position < 0 else bisect_left(self._starts, position)

    def ends_with(self, run: Sequence[bytes]) -> bool:
        """Return whether the file ends with the sequence."""
        return self._text.endswith(_needle(run))


def _needle(run: Sequence[bytes]) -> bytes:
    return b"".join(b"\n" + key for key in run) + b"\n"


class _Target:
    """A file while hunks are applied to it from top to bottom."""

    def __init__(self, lines: list[bytes], path: str) -> None:
        self.notes: list[str] = []
        self._lines = lines
        self._path = path
        self._consumed = 0
        self._out: list[bytes] = []
        self._tail: list[bytes] = []
        self._indexes: dict[Callable[[bytes], bytes], _Index] = {}

    def apply(self, hunk: Hunk) -> None:
        """Locate the hunk and append its result."""
        old = hunk.old
        if not old and (hunk.at_end or not hunk.headers):
            self._tail += _rewrite(hunk, self._lines, len(self._lines))
            return
        start = self._locate(hunk, old)
        self._out += self._lines[self._consumed : start]
        self._out += _rewrite(hunk, self._lines, start)
        self._consumed = start + len(old)

    def result(self) -> bytes:
        """Return the new file; an old last line that is followed by others gets a line ending."""
        lines = self._out + self._lines[self._consumed :] + self._tail
        inner = [line if line.endswith(b"\n") else line + _common_ending(self._lines) for line in lines[:-1]]
        return b"".join(inner + lines[-1:])

    def _index(self, spelling: Callable[[bytes], bytes]) -> _Index:
        if spelling not in self._indexes:
            self._indexes[spelling] = _Index(self._lines, spelling)
        return self._indexes[spelling]

    def _locate(self, hunk: Hunk, old: Sequence[bytes]) -> int:
        start = self._below_headers(hunk)
        if not old:
            return start
        exact = self._find(hunk, old, _without_newline if hunk.has_carriage_returns else _without_ending, start)
        if exact is not None:
            return exact
        trimmed = [_trim_blanks(line) for line in old]
        tolerant = self._find(hunk, trimmed, _trim_blanks, start)
        if tolerant is None:
            raise self._mismatch(hunk, start)
        other = None if hunk.at_end else self._index(_trim_blanks).find(trimmed, tolerant + 1)
        if other is not None:
            raise ToolError(
                "validation",
                f"hunk {hunk.number} of `{self._path}` fits nowhere exactly; without trailing blanks it fits both"
                f" line {tolerant + 1} and line {other + 1}",
                hint="copy the lines exactly, or add lines around them",
            )
        self.notes.append(
            f"hunk {hunk.number} of {self._path}: trailing blanks differ from the file, whose blanks are kept"
        )
        return tolerant

    def _find(self, hunk: Hunk, run: Sequence[bytes], spelling: Callable[[bytes], bytes], start: int) -> int | None:
        index = self._index(spelling)
        if hunk.at_end:
            position = len(self._lines) - len(run)
            return position if position >= start and index.ends_with(run) else None
        match = index.find(run, start)
        if match is not None and spelling is not _trim_blanks:
            other = index.find(run, match + 1)
            if other is not None:
                self.notes.append(
                    f"hunk {hunk.number} of {self._path}: used at line {match + 1}, the first of several matches"
                )
        return match

    def _below_headers(self, hunk: Hunk) -> int:
        """Return the line below the last header; each header is searched below the one before."""
        start = self._consumed
        for header in hunk.headers:
            line = self._index(_without_ending).find([header], start)
            if line is None:
                line = self._index(_strip).find([header.strip()], start)
            if line is None:
                text = header.decode(errors="replace")
                suffix = f" below line {start}" if start else ""
                raise ToolError(
                    "validation",
                    f"hunk {hunk.number} of `{self._path}`: there is no line `{text}`{suffix}",
                    hint="put a whole line of the file after `@@`, or nothing",
                )
            start = line + 1
        return start

    def _mismatch(self, hunk: Hunk, start: int) -> ToolError:
        prefix = f"hunk {hunk.number} of `{self._path}` does not match"
        earlier = self._index(_trim_blanks).find([_trim_blanks(line) for line in hunk.old], 0)
        if earlier is not None and not hunk.at_end:
            return ToolError(
                "validation",
                f"{prefix} below line {start}, only at line {earlier + 1}",
                hint="put the hunks in the order of the file, and `@@` lines only above their hunks",
            )
        return ToolError(
            "validation", f"{prefix}: {describe_nearest(self._lines, hunk.old)}", hint="read the file again"
        )


def _strip(line: bytes) -> bytes:
    return line.strip()


def _rewrite(hunk: Hunk, lines: Sequence[bytes], start: int) -> list[bytes]:
    """Return the lines of the hunk; an added line ends like the one it replaces or follows."""
    old = iter(lines[start : start + len(hunk.old)])
    out: list[bytes] = []
    dropped = deque[bytes]()
    last_ending = line_ending(lines[max(start - 1, 0)]) if lines else b""
    last_ending = last_ending or _common_ending(lines)
    for line in hunk.lines:
        if line.side == "+":
            last_ending = dropped.popleft() if dropped else last_ending
            out.append(line.text + (b"\n" if hunk.has_carriage_returns else last_ending) * line.terminated)
            continue
        original = next(old)
        if line.side == "-":
            dropped.append(line_ending(original) or last_ending)
        else:
            dropped.clear()
            last_ending = line_ending(original) or last_ending
            out.append(original)
    if _ends_open(hunk, lines, start):
        out[-1] = _without_ending(out[-1])
    return out


def _ends_open(hunk: Hunk, lines: Sequence[bytes], start: int) -> bool:
    """Return whether the hunk adds the new end of a file without a final newline, and does not ask for one."""
    is_open = bool(lines) and not line_ending(lines[-1]) and start + len(hunk.old) == len(lines)
    sides = [line.side for line in hunk.lines if line.side != "-"]
    return is_open and sides[-1:] == ["+"] and all(line.terminated for line in hunk.lines)


def _common_ending(lines: Sequence[bytes]) -> bytes:
    """Return the ending for a new last line."""
    return next((end for line in reversed(lines) if (end := line_ending(line))), b"\n")


class Change(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Summary of the change to one file."""

    kind: Literal["add", "update", "delete"]
    path: str
    moved_to: str | None = None
    added: int
    removed: int


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The planned files in the order of the patch, and a summary of each change."""

    files: tuple[FileChange, ...]
    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()


def paths_to_read(sections: Sequence[Section]) -> list[str]:
    """Return the files whose content the plan needs, each once."""
    return list(dict.fromkeys(section.path for section in sections if not isinstance(section, AddFile)))


def build_plan(sections: Sequence[Section], contents: Mapping[str, bytes]) -> Plan:
    """Plan the change of each file; `contents` holds the files of `paths_to_read`."""
    draft = _PlanBuilder(contents)
    for section in sections:
        match section:
            case AddFile():
                draft.add(section)
            case DeleteFile():
                draft.delete(section)
            case UpdateFile():
                draft.update(section)
    return Plan(files=tuple(draft.files.values()), changes=tuple(draft.changes.values()), notes=tuple(draft.notes))


class _PlanBuilder:
    """The plan while it is built."""

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
        """Plan to delete a file."""
        self._check_new(section.path)
        old_content = self._contents[section.path]
        self.files[section.path] = FileChange(path=section.path, before_sha256=_digest(old_content), data=None)
        self.changes[section.path] = Change(
            kind="delete", path=section.path, added=0, removed=len(split_lines(old_content))
        )

    def update(self, section: UpdateFile) -> None:
        """Plan to change a file; a second update applies to the result of the first."""
        path, old_content = section.path, self._contents[section.path]
        earlier = self.changes.get(path)
        if earlier is None:
            earlier = Change(kind="update", path=path, added=0, removed=0)
        elif earlier.kind != "update" or earlier.moved_to is not None:
            raise _conflict(path)
        base = self.files[path].data if path in self.files else None
        result = apply_hunks(old_content if base is None else base, section.hunks, path)
        self.notes += result.notes
        earlier.added += sum(hunk.count("+") for hunk in section.hunks)
        earlier.removed += sum(hunk.count("-") for hunk in section.hunks)
        earlier.moved_to = section.moved_to if section.moved_to != path else None
        self.changes[path] = earlier
        self.files[path] = FileChange(
            path=path, before_sha256=_digest(old_content), data=result.data, moved_to=earlier.moved_to
        )

    def _check_new(self, path: str) -> None:
        if path in self.changes:
            raise _conflict(path)


def _conflict(path: str) -> ToolError:
    return ToolError(
        "validation", f"the patch has conflicting sections for `{path}`", hint="name each file once in a patch"
    )


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
