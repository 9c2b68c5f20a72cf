"""The digest of a skill's whole directory: an approval of what a skill runs holds for these bytes."""

import hashlib
import os
import stat
from pathlib import Path

from skills_runtime.skills.problems import failure
from skills_runtime.storage.nofollow import LISTING, open_below, open_directory, read_below

MAX_FILES = 10_000
MAX_BYTES = 256 << 20


def directory_digest(directory: Path) -> str:
    """One digest of every name, kind, mode and content below a directory; links count as what they say."""
    whole, files, size = hashlib.sha256(), 0, 0
    with open_directory(directory) as top:
        waiting: list[tuple[str, ...]] = [()]
        while waiting:
            parts = waiting.pop()
            for name in _names(top, parts):
                here = (*parts, name)
                files += 1
                mode, said = _look(top, here)
                size += len(said)
                if files > MAX_FILES or size > MAX_BYTES:
                    raise failure(
                        "SKILL_ACTION_SOURCE_UNSUPPORTED",
                        f"the skill directory `{directory}` is too large to be approved",
                        hint="keep what a skill runs small, and its data elsewhere",
                    )
                digest = hashlib.sha256(said).hexdigest()
                whole.update(f"{mode:o} {digest} {'/'.join(here)}\n".encode(errors="surrogateescape"))
                if stat.S_ISDIR(mode):
                    waiting.append(here)
    return whole.hexdigest()


def _names(top: int, parts: tuple[str, ...]) -> list[str]:
    here = open_below(top, parts, LISTING)
    try:
        with os.scandir(here) as entries:
            return sorted(entry.name for entry in entries)
    finally:
        os.close(here)


def _look(top: int, parts: tuple[str, ...]) -> tuple[int, bytes]:
    """The mode of a name, and its content if it has one."""
    *above, name = parts
    here = open_below(top, above, LISTING)
    try:
        mode = os.stat(name, dir_fd=here, follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode):
            return mode, os.fsencode(os.readlink(name, dir_fd=here))
    finally:
        os.close(here)
    return mode, read_below(top, parts, limit=MAX_BYTES + 1) if stat.S_ISREG(mode) else b""
