"""A short overview of a directory, for the model: a bounded number of entries, nearest first, links not followed."""

import os
from collections import deque
from itertools import islice
from pathlib import Path

import msgspec

from skills_runtime.storage.nofollow import LISTING, open_below, open_directory
from skills_runtime.text import escape_attribute

MAX_ENTRIES = 200
MAX_DEPTH = 3
MAX_LOOKED_AT = 10_000
"""How many entries of one directory are looked at before it counts as too large."""

Parts = tuple[str, ...]


class _Entry(msgspec.Struct, frozen=True, order=True):
    parts: Parts
    mark: str


def overview(root: Path) -> str:
    """The visible entries below a directory, one path per line, and a last line when there are more."""
    try:
        with open_directory(Path(os.path.realpath(root))) as top:
            return _overview(top)
    except OSError:
        return "(it cannot be read)"


def _overview(top: int) -> str:
    entries: list[_Entry] = []
    complete = True
    waiting: deque[Parts] = deque([()])
    while waiting:
        here = waiting.popleft()
        found, whole = _inside(top, here)
        room = MAX_ENTRIES - len(entries)
        complete = complete and whole and len(found) <= room
        entries += found[:room]
        directories = [each.parts for each in found[:room] if each.mark == "/"]
        if len(here) + 1 < MAX_DEPTH:
            waiting.extend(directories)
        else:
            complete = complete and not directories
    lines = ["- " + escape_attribute("/".join(entry.parts)) + entry.mark for entry in sorted(entries)]
    return "\n".join(lines if complete else [*lines, "(there is more than this list shows)"])


def _inside(top: int, parts: Parts) -> tuple[list[_Entry], bool]:
    """What a directory has in it, by name, and whether that is all."""
    try:
        fd = open_below(top, parts, LISTING)
    except OSError:
        return [], False
    try:
        with os.scandir(fd) as listing:
            looked_at = list(islice(listing, MAX_LOOKED_AT + 1))
            visible = [entry for entry in looked_at[:MAX_LOOKED_AT] if not entry.name.startswith(".")]
            found = sorted(_Entry((*parts, entry.name), _mark(entry)) for entry in visible)
    finally:
        os.close(fd)
    return found, len(looked_at) <= MAX_LOOKED_AT


def _mark(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return "@"
    return "/" if entry.is_dir(follow_symlinks=False) else ""
