"""A directory as a value, so that "nothing changed" can be said in one line."""

import os
import stat
from pathlib import Path
from typing import NamedTuple


class Entry(NamedTuple):
    """One name in a tree; the content is empty for directories."""

    mode: int
    content: bytes


def tree(root: Path) -> dict[str, Entry]:
    """Every path below a directory, with its mode and its bytes or the target of its link."""
    return {str(path.relative_to(root)): _entry(path) for path in sorted(root.rglob("*"))}


def modes(root: Path) -> dict[str, int]:
    """Every path below a directory and the directory itself as `.`, with its permissions."""
    return {".": stat.S_IMODE(root.stat().st_mode)} | {name: stat.S_IMODE(one.mode) for name, one in tree(root).items()}


def _entry(path: Path) -> Entry:
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        return Entry(found.st_mode, os.fsencode(path.readlink()))
    return Entry(found.st_mode, path.read_bytes() if stat.S_ISREG(found.st_mode) else b"")
