"""Find and hash the files of a run, within limits and in a stable order.

Directories and files are opened relative to an open directory, never through a link.
"""

import errno
import os
from collections.abc import Sequence
from contextlib import closing, suppress
from operator import itemgetter
from pathlib import Path
from typing import Literal

import msgspec

from skills_runtime.errors import ValidationFailed
from skills_runtime.runs.files.locate import encode_name, file_kind, is_text
from skills_runtime.runs.files.paths import escape_path, path_error
from skills_runtime.storage import (
    DIRECTORY,
    OPEN_TO_LIST,
    Entry,
    Parts,
    media_type,
    open_beneath,
    relative_parts,
    sha256_of,
    walk,
)

SkipReason = Literal["limit", "symlink", "special", "unreadable", "changed"]
MAX_SKIPPED = 1000
Order = tuple[int, list[bytes]]
_READ_ONLY = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class ScanLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a scan."""

    max_files: int = 10_000
    max_depth: int = 32
    max_hash_bytes: int = 1_073_741_824


class Skipped(msgspec.Struct, frozen=True):
    """An entry that was seen but is not listed."""

    path: str
    reason: SkipReason


class ScannedFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One regular file; `escaped` says that its path is not valid UTF-8 and is written with `%XX`."""

    path: str
    size: int
    sha256: str
    media_type: str
    escaped: bool = False


class Scan(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a scan; `complete` is false when a file may be missing."""

    roots: tuple[str, ...]
    files_seen: int
    bytes_seen: int
    complete: bool
    limits: ScanLimits
    skipped: tuple[Skipped, ...]
    files: tuple[ScannedFile, ...]


DEFAULT_LIMITS = ScanLimits()


def scan(root: Path, roots: Sequence[str], limits: ScanLimits = DEFAULT_LIMITS) -> Scan:
    """Hash every regular file below the named directories of `root`."""
    scanner = _Scanner(limits)
    try:
        fd = os.open(root, DIRECTORY)
        try:
            for name in roots:
                scanner.scan_root(fd, name)
        finally:
            os.close(fd)
    except OSError as error:
        raise path_error(error, str(root)) from error
    return scanner.result(tuple(roots))


class _Scanner:
    """The state of a scan in progress."""

    def __init__(self, limits: ScanLimits) -> None:
        self._limits = limits
        self._files: list[tuple[Order, ScannedFile]] = []
        self._skipped: list[tuple[Order, Skipped]] = []
        self._files_seen = self._others_seen = self._bytes_seen = self._bytes_hashed = 0
        self._complete = True
        self._root = 0

    def result(self, roots: tuple[str, ...]) -> Scan:
        return Scan(
            roots=roots,
            files_seen=self._files_seen,
            bytes_seen=self._bytes_seen,
            complete=self._complete,
            limits=self._limits,
            skipped=tuple(skipped for _, skipped in sorted(self._skipped, key=itemgetter(0))),
            files=tuple(file for _, file in sorted(self._files, key=itemgetter(0))),
        )

    def scan_root(self, root_fd: int, name: str) -> None:
        """Scan one of the named directories; a missing one is empty."""
        parts = relative_parts(name)
        if parts is None:
            raise ValidationFailed(
                f"`{escape_path(name)}` is not a directory to scan", hint="use names like `workspace`"
            )
        self._root += 1
        with suppress(FileNotFoundError):
            parent = open_beneath(root_fd, parts[:-1], DIRECTORY) if parts[1:] else os.dup(root_fd)
            try:
                top = Entry(parts, parent, os.stat(parts[-1], dir_fd=parent, follow_symlinks=False))
                self._visit(top)
                if top.is_directory:
                    self._scan_below(top)
            finally:
                os.close(parent)

    def _scan_below(self, top: Entry) -> None:
        def enter(entry: Entry) -> bool:
            if len(entry.parts) > self._limits.max_depth:
                self._skip((*top.parts, *entry.parts), "limit")
                return False
            return True

        def on_error(parts: Parts, error: OSError) -> None:
            self._skip((*top.parts, *parts), _reason(error))

        try:
            fd = os.open(top.name, OPEN_TO_LIST, dir_fd=top.directory)
        except OSError as error:
            on_error((), error)
            return
        # No more entries than this can be visited.
        remaining = 2 * self._limits.max_files - self._files_seen - self._others_seen
        try:
            with closing(walk(fd, limit=remaining + 1, enter=enter, on_error=on_error)) as entries:
                for entry in entries:
                    parts = (*top.parts, *entry.parts)
                    if max(self._files_seen, self._others_seen) >= self._limits.max_files:
                        self._skip(parts, "limit")
                        return
                    self._visit(entry._replace(parts=parts))
        finally:
            os.close(fd)

    def _visit(self, entry: Entry) -> None:
        if not entry.is_file:
            self._others_seen += 1
            if not entry.is_directory:
                self._skip(entry.parts, "symlink" if entry.is_link else "special")
            return
        self._files_seen += 1
        try:
            fd = os.open(entry.name, _READ_ONLY, dir_fd=entry.directory)
            try:
                outcome = self._hash(fd, entry.path)
            finally:
                os.close(fd)
        except OSError as error:
            outcome = _reason(error)
        if isinstance(outcome, ScannedFile):
            self._files.append((self._order(entry.parts), outcome))
        else:
            self._skip(entry.parts, outcome)

    def _hash(self, fd: int, path: str) -> ScannedFile | SkipReason:
        status = os.fstat(fd)
        self._bytes_seen += status.st_size
        if file_kind(status) != "file":
            return "changed"
        if status.st_size > self._limits.max_hash_bytes - self._bytes_hashed:
            return "limit"
        digest, count = sha256_of(fd, status.st_size + 1)
        self._bytes_hashed += count
        if _state(os.fstat(fd)) != _state(status) or count != status.st_size:
            return "changed"
        kind = media_type(path)
        return ScannedFile(
            path=encode_name(path), size=count, sha256=digest, media_type=kind, escaped=not is_text(path)
        )

    def _skip(self, parts: Parts, reason: SkipReason) -> None:
        if reason not in ("symlink", "special"):
            self._complete = False
        if len(self._skipped) < MAX_SKIPPED:
            self._skipped.append((self._order(parts), Skipped(encode_name("/".join(parts)), reason)))
        else:
            self._complete = False

    def _order(self, parts: Parts) -> Order:
        """Return the sort key: by root, then by the bytes of the names."""
        return self._root, [os.fsencode(part) for part in parts]


def _state(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _reason(error: OSError) -> SkipReason:
    swapped = (errno.ENOENT, errno.ELOOP, errno.ENOTDIR, errno.ENXIO)
    return "changed" if error.errno in swapped else "unreadable"
