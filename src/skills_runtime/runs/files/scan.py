"""Finds and hashes what a run left behind, within limits, in an order that never changes.

Directories are entered and files opened by name in an open directory, never through a link. Media types come from a
table of our own: the answer does not depend on the machine.
"""

import errno
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import msgspec

from skills_runtime.errors import ValidationFailed
from skills_runtime.runs.files.locate import is_text, kind_of, spelled
from skills_runtime.runs.files.paths import refusal, shown
from skills_runtime.storage.beneath import DIRECTORY, open_beneath
from skills_runtime.storage.files import sha256_of
from skills_runtime.storage.nofollow import LISTING, first_names

SkipReason = Literal["limit", "symlink", "special", "unreadable", "changed"]
MAX_SKIPPED = 1000
_READ_ONLY = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_UNNOTED = getattr(os, "O_NOATIME", 0)

_ANY_BYTES = "application/octet-stream"

_BY_SUFFIX = MappingProxyType(
    {
        "bin": _ANY_BYTES,
        "bmp": "image/bmp",
        "c": "text/x-c",
        "cfg": "text/plain",
        "cpp": "text/x-c++",
        "css": "text/css",
        "csv": "text/csv",
        "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "epub": "application/epub+zip",
        "gif": "image/gif",
        "go": "text/x-go",
        "gz": "application/gzip",
        "h": "text/x-c",
        "htm": "text/html",
        "html": "text/html",
        "ico": "image/vnd.microsoft.icon",
        "ini": "text/plain",
        "ipynb": "application/x-ipynb+json",
        "java": "text/x-java",
        "jpeg": "image/jpeg",
        "jpg": "image/jpeg",
        "js": "text/javascript",
        "json": "application/json",
        "jsonl": "application/jsonl",
        "log": "text/plain",
        "markdown": "text/markdown",
        "md": "text/markdown",
        "mjs": "text/javascript",
        "mp3": "audio/mpeg",
        "mp4": "video/mp4",
        "ogg": "audio/ogg",
        "otf": "font/otf",
        "parquet": "application/vnd.apache.parquet",
        "patch": "text/x-diff",
        "pdf": "application/pdf",
        "png": "image/png",
        "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "py": "text/x-python",
        "rs": "text/x-rust",
        "rst": "text/x-rst",
        "rtf": "application/rtf",
        "sh": "application/x-sh",
        "sql": "application/sql",
        "sqlite": "application/vnd.sqlite3",
        "svg": "image/svg+xml",
        "tar": "application/x-tar",
        "tif": "image/tiff",
        "tiff": "image/tiff",
        "toml": "application/toml",
        "ts": "text/x-typescript",
        "tsv": "text/tab-separated-values",
        "tsx": "text/x-typescript",
        "ttf": "font/ttf",
        "txt": "text/plain",
        "wasm": "application/wasm",
        "wav": "audio/wav",
        "webm": "video/webm",
        "webp": "image/webp",
        "woff": "font/woff",
        "woff2": "font/woff2",
        "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "xml": "application/xml",
        "yaml": "application/yaml",
        "yml": "application/yaml",
        "zip": "application/zip",
    }
)


def media_type(name: str) -> str:
    """The media type that a file name suggests."""
    stem, _, suffix = name.rpartition("/")[2].rpartition(".")
    return _BY_SUFFIX.get(suffix.lower(), _ANY_BYTES) if stem else _ANY_BYTES


class ScanLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How far a scan goes."""

    max_files: int = 10_000
    max_depth: int = 32
    max_hash_bytes: int = 1_073_741_824


class Skipped(msgspec.Struct, frozen=True):
    """Something that was seen but is not listed."""

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
    """What was found; `complete` is false when a file may be missing from it."""

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
    scanning = _Scanning(limits)
    try:
        fd = os.open(root, DIRECTORY)
        try:
            for name in roots:
                scanning.visit_root(fd, name)
        finally:
            os.close(fd)
    except OSError as error:
        raise refusal(error, str(root)) from error
    return scanning.result(tuple(roots))


class _Scanning:
    """A scan under way."""

    def __init__(self, limits: ScanLimits) -> None:
        self._limits = limits
        self._files: list[ScannedFile] = []
        self._skipped: list[Skipped] = []
        self._files_seen = self._others_seen = self._bytes_seen = self._bytes_hashed = 0
        self._complete = True

    def result(self, roots: tuple[str, ...]) -> Scan:
        return Scan(
            roots=roots,
            files_seen=self._files_seen,
            bytes_seen=self._bytes_seen,
            complete=self._complete,
            limits=self._limits,
            skipped=tuple(self._skipped),
            files=tuple(self._files),
        )

    def visit_root(self, root_fd: int, name: str) -> None:
        """Scan one of the named directories; one that is not there holds nothing."""
        parts = name.split("/")
        if not {"", ".", ".."}.isdisjoint(parts):
            raise ValidationFailed(f"`{shown(name)}` is not a directory to scan", hint="use names like `workspace`")
        above = parts[:-1]
        if not above:
            self._visit(root_fd, name, name, 0)
            return
        with suppress(FileNotFoundError):
            parent = open_beneath(root_fd, above, DIRECTORY)
            try:
                self._visit(parent, parts[-1], name, 0)
            finally:
                os.close(parent)

    def _visit(self, directory: int, name: str, path: str, depth: int) -> None:
        try:
            found = os.stat(name, dir_fd=directory, follow_symlinks=False)
        except OSError as error:
            if depth:
                self._skip(path, _reason(error))
            return
        kind = kind_of(found)
        if kind == "file":
            self._files_seen += 1
            self._read(directory, name, path)
            return
        self._others_seen += 1
        if kind == "directory":
            self._enter(directory, name, path, depth)
        else:
            self._skip(path, kind)

    def _enter(self, directory: int, name: str, path: str, depth: int) -> None:
        if depth > self._limits.max_depth:
            self._skip(path, "limit")
            return
        try:
            fd = _opened(directory, name)
        except OSError as error:
            self._skip(path, _reason(error))
            return
        try:
            for child in first_names(fd, self._room() + 1):
                if self._is_full():
                    self._skip(f"{path}/{child}", "limit")
                    return
                self._visit(fd, child, f"{path}/{child}", depth + 1)
        finally:
            os.close(fd)

    def _read(self, directory: int, name: str, path: str) -> None:
        try:
            fd = os.open(name, _READ_ONLY, dir_fd=directory)
        except OSError as error:
            self._skip(path, _reason(error))
            return
        try:
            outcome = self._hash(fd, path)
        except OSError as error:
            outcome = _reason(error)
        finally:
            os.close(fd)
        if isinstance(outcome, ScannedFile):
            self._files.append(outcome)
        else:
            self._skip(path, outcome)

    def _hash(self, fd: int, path: str) -> ScannedFile | SkipReason:
        before = os.fstat(fd)
        self._bytes_seen += before.st_size
        if kind_of(before) != "file":
            return "changed"
        if before.st_size > self._limits.max_hash_bytes - self._bytes_hashed:
            return "limit"
        digest, count = sha256_of(fd, before.st_size + 1)
        self._bytes_hashed += count
        if _state(os.fstat(fd)) != _state(before) or count != before.st_size:
            return "changed"
        kind = media_type(path)
        return ScannedFile(path=spelled(path), size=count, sha256=digest, media_type=kind, escaped=not is_text(path))

    def _skip(self, path: str, reason: SkipReason) -> None:
        if reason not in ("symlink", "special"):
            self._complete = False
        if len(self._skipped) < MAX_SKIPPED:
            self._skipped.append(Skipped(spelled(path), reason))
        else:
            self._complete = False

    def _is_full(self) -> bool:
        return max(self._files_seen, self._others_seen) >= self._limits.max_files

    def _room(self) -> int:
        """More names than this cannot be visited, whatever they are."""
        return 2 * self._limits.max_files - self._files_seen - self._others_seen


def _state(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _opened(directory: int, name: str) -> int:
    """A directory to list, whose time of access is left alone: to note it can mean to wait for the disk."""
    try:
        return os.open(name, LISTING | _UNNOTED, dir_fd=directory)
    except PermissionError:  # only its owner may ask for that
        return os.open(name, LISTING, dir_fd=directory)


def _reason(error: OSError) -> SkipReason:
    swapped = (errno.ENOENT, errno.ELOOP, errno.ENOTDIR, errno.ENXIO)
    return "changed" if error.errno in swapped else "unreadable"
