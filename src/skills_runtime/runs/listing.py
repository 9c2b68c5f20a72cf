"""Classify the files of a run directory: listed by the manifest or the log, internal, or unlisted."""

import errno
import os
import re
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import unquote_to_bytes

import msgspec

from skills_runtime.projections import RunState
from skills_runtime.runs.files.locate import encode_name
from skills_runtime.runs.layout import MAX_BLOB_BYTES, MAX_TEXT_BYTES, SNAPSHOTS, SPARE, RunPaths
from skills_runtime.runs.log import open_for_reading, read_lines
from skills_runtime.runs.manifests import ROLES, ArtifactManifest
from skills_runtime.storage import (
    check_size,
    open_directory,
    open_regular_below,
    read_regular,
    relative_parts,
    sha256_of,
    walk,
)

MAX_ENTRIES = 1_000_000
"""The maximum number of directory entries to read."""
MAX_ARTIFACT_BYTES = 8 << 30
"""The maximum size of a member in any tar format."""
FileStatus = Literal["listed", "internal", "draft", "uncertain", "unlisted"]
"""`internal` files are for the runtime only; an incomplete manifest may have left out `uncertain` ones."""

_RECORDS = frozenset({*SNAPSHOTS, "sandbox-manifest.json", "artifact-manifest.json", "run.json"})
_INTERNAL = frozenset({
    "run.lock", SPARE, "logs/checkpoints.jsonl", "logs/state.snapshot",
    "archive/SHA256SUMS", "archive/provenance.intoto.json", "archive/imported.json",
})  # fmt: skip
_INTERNAL_DIRECTORIES = ("executions/.runtime/", "logs/trash/", "logs/quarantine/")
_BLOB = re.compile(r"blobs/sha256/[0-9a-f]{2}/([0-9a-f]{64})")
_DRAFT = re.compile(r"(?:.*/)?\.(?:.{1,40}\.[0-9]+\.[0-9a-f]{12}|[0-9a-f]{16})", re.DOTALL)
"""Temporary files that a killed process leaves behind."""
_REFERENCE = re.compile(rb'"([0-9a-f]{64}|logs/rejected-[0-9]+-[0-9a-f]{8}\.bin)"')


class FileEntry(NamedTuple):
    """An entry of a run directory that is not a directory; `path` is relative."""

    path: str
    regular: bool
    size: int

    @property
    def blob(self) -> str | None:
        """The digest in its name, if it is in a blob directory."""
        match = _BLOB.fullmatch(self.path)
        return match[1] if match else None


def find_files(root: Path) -> list[FileEntry]:
    """Find every file in a run directory without following links; raise `OSError` beyond `MAX_ENTRIES`."""
    files: list[FileEntry] = []
    with open_directory(root) as top:
        for count, entry in enumerate(walk(top, limit=MAX_ENTRIES, on_error=lambda _, __: None), start=1):
            if count == MAX_ENTRIES:
                raise OSError(errno.EFBIG, f"holds more than {MAX_ENTRIES} files")
            if not entry.is_directory:
                files.append(FileEntry(entry.path, entry.is_file, entry.status.st_size))
    return files


def open_file(root: Path, path: str, limit: int) -> int:
    """Open a regular file of a run directory, of at most `limit` bytes, without following links."""
    parts = relative_parts(path)
    if parts is None:
        raise OSError(errno.EINVAL, "is not inside the run directory")
    with open_directory(root) as top:
        fd = open_regular_below(top, parts)
    try:
        check_size(fd, limit)
    except OSError:
        os.close(fd)
        raise
    return fd


def digest_file(root: Path, path: str, limit: int) -> str:
    """Return the SHA-256 of such a file."""
    fd = open_file(root, path, limit)
    try:
        return sha256_of(fd, limit)[0]
    finally:
        os.close(fd)


def read_manifest(paths: RunPaths) -> ArtifactManifest:
    """Read the artifact manifest of a run; raises `OSError` or `MsgspecError`."""
    return msgspec.json.decode(read_regular(paths.artifact_manifest, MAX_TEXT_BYTES), type=ArtifactManifest)


def decode_name(name: str, *, escaped: bool) -> str:
    """Decode the path of a file that a manifest lists."""
    return os.fsdecode(unquote_to_bytes(name)) if escaped else name


class Listing:
    """The files listed by the manifest and the log of a run."""

    def __init__(self, paths: RunPaths, state: RunState, manifest: ArtifactManifest | None) -> None:
        self._open_directories = ("archive", *ROLES) if state.open else ()
        self._produced: dict[str, int] = {}
        self._uncertain: tuple[str, ...] = tuple(ROLES)
        self._skipped: set[str] = set()
        if manifest is not None:
            self._produced = {
                decode_name(artifact.name, escaped="escaped" in artifact.annotations): artifact.size
                for artifact in manifest.artifacts
                if artifact.direction == "produced"
                and (artifact.role == "summary" or artifact.name.partition("/")[0] in ROLES)
            }
            self._skipped = {str(entry.get("path")) for entry in manifest.scan.get("skipped", ())}
            if manifest.scan.get("complete"):
                self._uncertain = ()
        self._referenced: set[str] = set()
        self._log_end = 0
        with open_for_reading(paths) as fd:
            for line in read_lines(fd):
                if line.complete:
                    self._referenced.update(reference.decode() for reference in _REFERENCE.findall(line.data))
                    self._log_end = line.offset + len(line.data) + 1

    def classify(self, file: FileEntry) -> FileStatus:
        """Classify a file of the run directory."""
        path, top = file.path, file.path.partition("/")[0]
        if self.limit(file) is not None and (file.blob is None or file.blob in self._referenced):
            return "listed"
        if path in _INTERNAL or path.startswith(_INTERNAL_DIRECTORIES) or top in self._open_directories:
            return "internal"
        if file.blob is not None or encode_name(path) in self._skipped or top in self._uncertain:
            return "uncertain"
        return "draft" if _DRAFT.fullmatch(path) else "unlisted"

    def limit(self, file: FileEntry) -> int | None:
        """Return the maximum size of a listed file, or None when it is not listed."""
        if file.path == "events.jsonl":
            return self._log_end
        if file.path == "transcript.md":
            return 2 * self._log_end + MAX_TEXT_BYTES
        if file.path in _RECORDS:
            return MAX_TEXT_BYTES
        if file.blob is not None or file.path in self._referenced:
            return MAX_BLOB_BYTES
        size = self._produced.get(file.path)
        return None if size is None else min(max(size, MAX_TEXT_BYTES), MAX_ARTIFACT_BYTES)
