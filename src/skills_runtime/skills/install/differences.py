"""What a new version of a skill changes, file by file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from skills_runtime.skills.install.hashing import Entry, Hashed
from skills_runtime.storage.nofollow import open_directory, read_below
from skills_runtime.text import unified_diff

MAX_LINES = 400
"""How much of a difference is shown; the rest is counted."""
_MAX_TEXT = 256 << 10


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """One file that is not what it was."""

    path: str
    kind: Literal["added", "removed", "changed"]
    before: int | None = None
    """Its bytes before, if it was there."""
    after: int | None = None
    lines: tuple[str, ...] = ()
    """What changed in its text, as programs write it; none where it is no text."""


def differences(before: Path, old: Hashed, after: Path, new: Hashed) -> tuple[FileChange, ...]:
    """Each file that differs between two directories, by path."""
    return tuple(_changes(before, _by_path(old), after, _by_path(new)))


def _changes(before: Path, old: dict[str, Entry], after: Path, new: dict[str, Entry]) -> Iterator[FileChange]:
    for path in sorted(old.keys() | new.keys()):
        was, becomes = old.get(path), new.get(path)
        if was is None and becomes is not None:
            yield FileChange(path=path, kind="added", after=becomes.size)
        elif becomes is None and was is not None:
            yield FileChange(path=path, kind="removed", before=was.size)
        elif was is not None and becomes is not None and (was.content, was.kind) != (becomes.content, becomes.kind):
            lines = _lines(path, _text(before, was), _text(after, becomes))
            yield FileChange(path=path, kind="changed", before=was.size, after=becomes.size, lines=lines)


def _by_path(hashed: Hashed) -> dict[str, Entry]:
    return {entry.path: entry for entry in hashed.entries}


def _text(root: Path, entry: Entry) -> list[str] | None:
    if entry.kind != "file" or entry.size > _MAX_TEXT:
        return None
    with open_directory(root.resolve()) as top:
        data = read_below(top, entry.path.split("/"), limit=_MAX_TEXT)
    try:
        return data.decode().splitlines() if b"\0" not in data else None
    except UnicodeDecodeError:
        return None


def _lines(path: str, before: list[str] | None, after: list[str] | None) -> tuple[str, ...]:
    if before is None or after is None:
        return ()
    lines = list(unified_diff(before, after, (f"before/{path}", f"after/{path}"), end=""))
    if len(lines) > MAX_LINES:
        return (*lines[:MAX_LINES], f"… {len(lines) - MAX_LINES} more lines")
    return tuple(lines)
