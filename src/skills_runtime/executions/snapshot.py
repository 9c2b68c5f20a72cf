"""Snapshot of a skill's directory for its executions: read once, and again only after a change.

Each path component is opened below the previous one, so no link leads out of the directory.
"""

import hashlib
import os
import stat
import threading
from collections import OrderedDict
from pathlib import Path

import msgspec

from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.executions.values import ExecutionLimits
from skills_runtime.storage import OPEN_TO_LIST, open_below, open_directory, read_below, walk, write_new

EXCLUDED = "artifacts"
"""Excluded because an earlier execution outside the runtime may have written it."""
MAX_REMEMBERED = 64
MAX_REMEMBERED_BYTES = 4 << 20
"""A larger skill is read again each time."""
SETTLED_NS = 1_000_000_000
"""A file changed more recently may change again with the same timestamp."""

Stamp = tuple[str, int, int, int, int, int]


class SnapshotItem(msgspec.Struct, frozen=True):
    """One entry of a skill: a directory, a file with its content, or a link with its target."""

    path: str
    mode: int
    content: bytes = b""


class SkillSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """All entries of a skill's directory, parents first."""

    items: tuple[SnapshotItem, ...]
    digest: str
    """Over every path, type, mode and content."""

    def content(self, path: str) -> bytes:
        """Return the content of a file; empty if there is none."""
        contents = (item.content for item in self.items if item.path == path and stat.S_ISREG(item.mode))
        return next(contents, b"")

    def write_to(self, directory: str) -> None:
        """Write a copy that only this user can read."""
        for item in self.items:
            path = f"{directory}/{item.path}"
            if stat.S_ISDIR(item.mode):
                os.mkdir(path, 0o700)  # noqa: PTH102 - a path for every file costs more than the file
            elif stat.S_ISLNK(item.mode):
                os.symlink(item.content, os.fsencode(path))  # noqa: PTH211
            else:
                write_new(path, item.content, mode=0o600 | (item.mode & 0o100))


class SnapshotCache:
    """Snapshots by directory."""

    def __init__(self, limits: ExecutionLimits) -> None:
        self._limits = limits
        self._cache: OrderedDict[Path, tuple[tuple[Stamp, ...], SkillSnapshot]] = OrderedDict()
        self._lock = threading.Lock()

    def load(self, directory: Path, *, now_ns: int) -> SkillSnapshot:
        """Return the current snapshot of a directory."""
        try:
            with open_directory(directory) as top:
                stamps = tuple(sorted(self._stamps(top)))
                cached = self._cache.get(directory)
                if cached is not None and cached[0] == stamps:
                    return cached[1]
                snapshot = _read_snapshot(top, stamps)
        except OSError as error:
            raise NotFound(
                f"the skill at `{directory}` cannot be read: {error.strerror or error}", hint="check its files"
            ) from error
        self._remember(directory, stamps, snapshot, now_ns)
        return snapshot

    def _remember(self, directory: Path, stamps: tuple[Stamp, ...], snapshot: SkillSnapshot, now_ns: int) -> None:
        size = sum(len(item.content) for item in snapshot.items)
        settled = all(max(stamp[4], stamp[5]) < now_ns - SETTLED_NS for stamp in stamps)
        if settled and size <= MAX_REMEMBERED_BYTES:
            with self._lock:
                self._cache[directory] = (stamps, snapshot)
                self._cache.move_to_end(directory)
                while len(self._cache) > MAX_REMEMBERED:
                    self._cache.popitem(last=False)

    def _stamps(self, top: int) -> list[Stamp]:
        """Return every entry with the attributes that reveal a change."""
        stamps: list[Stamp] = []
        size = 0
        for entry in walk(top, enter=lambda entry: entry.path != EXCLUDED):
            status = entry.status
            if entry.path == EXCLUDED or not (entry.is_file or entry.is_directory or entry.is_link):
                continue
            size += status.st_size if entry.is_file else 0
            stamp = (status.st_mode, status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
            stamps.append((entry.path, *stamp))
            if len(stamps) > self._limits.skill_files or size > self._limits.skill_bytes:
                raise ValidationFailed(
                    f"the skill is too large to be copied: more than {self._limits.skill_files} files"
                    f" or {self._limits.skill_bytes} bytes",
                    hint="keep its data elsewhere, or set `isolation: shared` in its `skill.yaml`",
                    details={"about": "skill"},
                )
        return stamps


def _read_snapshot(top: int, stamps: tuple[Stamp, ...]) -> SkillSnapshot:
    items: list[SnapshotItem] = []
    digest = hashlib.sha256()
    for path, mode, size, *_ in stamps:
        parts = tuple(path.split("/"))
        if stat.S_ISREG(mode):
            content = read_below(top, parts, limit=size)
        elif stat.S_ISLNK(mode):
            directory = open_below(top, parts[:-1], OPEN_TO_LIST)
            try:
                content = os.fsencode(os.readlink(parts[-1], dir_fd=directory))
            finally:
                os.close(directory)
        else:
            content = b""
        items.append(SnapshotItem(path, mode, content))
        # The order of the stamps, by path, is part of the digest.
        digest.update(f"{mode:o} {hashlib.sha256(content).hexdigest()} {path}\n".encode(errors="surrogateescape"))
    return SkillSnapshot(items=tuple(items), digest=f"sha256:{digest.hexdigest()}")
