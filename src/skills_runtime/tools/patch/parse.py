"""Parse a patch into values, without access to files.

Everything is bytes, and only a line feed ends a line: a carriage return, a form feed or U+2028 is part of the text.
"""

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from skills_runtime.errors import ToolError

MAX_BYTES = 4 << 20
MAX_SECTIONS = 100
MAX_HUNKS = 1000

Side = Literal[" ", "-", "+"]

_BEGIN = b"*** Begin Patch"
_END = b"*** End Patch"
_ADD = b"*** Add File:"
_DELETE = b"*** Delete File:"
_UPDATE = b"*** Update File:"
_MOVE = b"*** Move to:"
_END_OF_FILE = b"*** End of File"
_UNTERMINATED = b"\\"
_LINE_NUMBERS = re.compile(rb"@@ -\d+(,\d+)? \+\d+(,\d+)? @@")
_SIDES: dict[bytes, Side] = {b" ": " ", b"-": "-", b"+": "+"}


class Line(msgspec.Struct, frozen=True):
    """A line of a hunk; `terminated` is false when the patch says that no newline follows it."""

    side: Side
    text: bytes
    terminated: bool = True


class Hunk(msgspec.Struct, frozen=True, kw_only=True):
    """A change at one position of a file: context lines, removed lines and added lines."""

    number: int
    headers: tuple[bytes, ...] = ()
    """Lines of the file somewhere above the position, outermost first."""
    lines: tuple[Line, ...] = ()
    at_end: bool = False
    """Whether the position is the end of the file."""

    @property
    def old(self) -> list[bytes]:
        """The lines that must be in the file."""
        return [line.text for line in self.lines if line.side != "+"]

    @property
    def has_carriage_returns(self) -> bool:
        """Whether the lines are written with carriage returns, so that a line without one has none."""
        return any(line.text.endswith(b"\r") for line in self.lines)

    def count(self, side: Side) -> int:
        """Count the lines on a side."""
        return sum(line.side == side for line in self.lines)


class AddFile(msgspec.Struct, frozen=True, kw_only=True):
    """A new file."""

    path: str
    lines: tuple[Line, ...]


class DeleteFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file to delete."""

    path: str


class UpdateFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file to change, rename, or both."""

    path: str
    hunks: tuple[Hunk, ...]
    moved_to: str | None = None


Section = AddFile | DeleteFile | UpdateFile


def parse_patch(text: str) -> tuple[Section, ...]:
    """Parse a patch into its sections, in order."""
    reader = _Reader(_unwrap_envelope(text))
    sections: list[Section] = []
    while reader.has_more():
        sections.append(_section(reader))
    if not sections:
        raise ToolError("validation", "the patch changes nothing", hint="name at least one file")
    if len(sections) > MAX_SECTIONS:
        raise ToolError("validation", f"the patch has more than {MAX_SECTIONS} files", hint="send several patches")
    return tuple(sections)


class _Reader:
    """The lines of a patch with a read position."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self._lines = lines
        self._next = 0

    def has_more(self) -> bool:
        """Return whether anything but blank lines is left."""
        while self._next < len(self._lines) and not self._lines[self._next].strip():
            self._next += 1
        return self._next < len(self._lines)

    def peek(self) -> bytes | None:
        return self._lines[self._next] if self._next < len(self._lines) else None

    def take(self) -> bytes:
        self._next += 1
        return self._lines[self._next - 1]

    def error(self, complaint: str, hint: str) -> ToolError:
        """Build an error about the line read last; the first line of the envelope is line 1."""
        return ToolError("validation", f"line {self._next + 1} of the patch {complaint}", hint=hint)


def _unwrap_envelope(text: str) -> list[bytes]:
    """Return the lines inside the envelope, without carriage returns if the whole patch has them."""
    data = text.encode()
    if len(data) > MAX_BYTES:
        raise ToolError("validation", f"the patch is larger than {MAX_BYTES} bytes", hint="send several patches")
    lines = data.strip(b" \t\r\n").split(b"\n")
    if lines[0].rstrip() != _BEGIN or lines[-1].rstrip() != _END or len(lines) < 2:
        raise ToolError(
            "validation",
            "this is not a patch in the expected form",
            hint="the first line is `*** Begin Patch` and the last one `*** End Patch`",
        )
    inner = lines[1:-1]
    return [line.removesuffix(b"\r") for line in inner] if lines[0].endswith(b"\r") else inner


def _section(reader: _Reader) -> Section:
    line = reader.take()
    for marker, read in ((_ADD, _add), (_DELETE, _delete), (_UPDATE, _update)):
        if line.startswith(marker):
            return read(reader, _path(reader, line, marker))
    raise reader.error(
        f"is `{_excerpt(line)}`, which belongs to no file",
        "begin with `*** Add File: path`, `*** Update File: path` or `*** Delete File: path`",
    )


def _path(reader: _Reader, line: bytes, marker: bytes) -> str:
    path = line.removeprefix(marker).strip().decode()
    if not path:
        raise reader.error("names no file", "put the path after the colon")
    return path


def _delete(reader: _Reader, path: str) -> DeleteFile:
    if reader.has_more() and not (reader.peek() or b"").startswith(b"*** "):
        reader.take()
        raise reader.error(f"follows the deletion of `{path}`", "leave out everything but the path")
    return DeleteFile(path=path)


def _add(reader: _Reader, path: str) -> AddFile:
    lines = _lines(reader)
    if any(line.side != "+" for line in lines):
        raise reader.error(
            f"ends the new file `{path}`, but not all of its lines begin with `+`", "put a `+` before each"
        )
    return AddFile(path=path, lines=tuple(lines))


def _update(reader: _Reader, path: str) -> UpdateFile:
    line, moved_to = reader.peek(), None
    if line is not None and line.startswith(_MOVE):
        moved_to = _path(reader, reader.take(), _MOVE)
    hunks: list[Hunk] = []
    while (line := reader.peek()) is not None and not line.startswith((_ADD, _DELETE, _UPDATE)):
        hunks.append(_hunk(reader, len(hunks) + 1))
    if not hunks and moved_to is None:
        raise reader.error(f"updates `{path}` without saying how", "add a hunk: `@@`, then lines with ` `, `-` or `+`")
    if len(hunks) > MAX_HUNKS:
        raise reader.error(f"ends `{path}`, which has more than {MAX_HUNKS} hunks", "send several patches")
    return UpdateFile(path=path, hunks=tuple(hunks), moved_to=moved_to)


def _hunk(reader: _Reader, number: int) -> Hunk:
    headers: list[bytes] = []
    while (line := reader.peek()) is not None and line.startswith(b"@@"):
        reader.take()
        text = line[2:].removeprefix(b" ").rstrip()
        # Models count lines badly, so the line numbers are ignored.
        if text and not _LINE_NUMBERS.match(line):
            headers.append(text)
    lines = _lines(reader)
    at_end = (reader.peek() or b"").rstrip() == _END_OF_FILE
    if at_end:
        reader.take()
    if not lines:
        if reader.peek() is not None:
            reader.take()
        raise reader.error(f"ends hunk {number}, which is empty", "begin each line of a hunk with ` `, `-` or `+`")
    return Hunk(number=number, headers=tuple(headers), lines=tuple(lines), at_end=at_end)


def _lines(reader: _Reader) -> list[Line]:
    """Read the lines up to the next marker; blank ones count as blank context, but not at the end."""
    lines: list[Line] = []
    end = 0
    while (line := reader.peek()) is not None and not line.startswith((b"@@", b"*** ")):
        reader.take()
        side = _SIDES.get(line[:1])
        if side is not None:
            lines.append(Line(side, line[1:]))
        elif not line.strip():
            lines.append(Line(" ", line))
        elif line.startswith(_UNTERMINATED) and lines:
            lines[-1] = Line(lines[-1].side, lines[-1].text, terminated=False)
        else:
            raise reader.error(
                f"is `{_excerpt(line)}`", "begin it with ` ` to keep a line, `-` to drop or `+` to add one"
            )
        end = len(lines) if line else end
    return lines[:end]


def _excerpt(line: bytes) -> str:
    text = line.decode(errors="replace")
    return text if len(text) <= 60 else f"{text[:60]}…"
