"""Content-addressed private bytes of a run, which events refer to.

`blobs/sha256/ab/abcdef…`: written once, never changed.
"""

import hashlib
import os
import re
from pathlib import Path

from skills_runtime.errors import LogCorrupt, NotFound, StorageFailed, ValidationFailed
from skills_runtime.runs.layout import DIRECTORY_MODE, MAX_BLOB_BYTES
from skills_runtime.storage import error_reason, read_regular, write_new

_DIGEST = re.compile("[0-9a-f]{64}")


class Blobs:
    """The blobs of one run."""

    def __init__(self, directory: Path | str, *inherited: Path) -> None:
        self._directory = f"{directory}/sha256"
        self._inherited = [Blobs(ancestor) for ancestor in inherited]

    def path(self, digest: str) -> Path:
        """Return the path of a blob."""
        if not _DIGEST.fullmatch(digest):
            raise ValidationFailed(f"`{digest[:80]}` is not the name of a blob")
        return Path(f"{self._directory}/{digest[:2]}/{digest}")

    def has(self, digest: str) -> bool:
        """Return whether this run has a file for the digest; its content is not checked."""
        return _DIGEST.fullmatch(digest) is not None and self.path(digest).exists()

    def is_reachable(self, digest: str) -> bool:
        """Return whether this run, or one it was forked from, has a file for the digest."""
        return any(store.has(digest) for store in (self, *self._inherited))

    def paths_to_sync(self, digest: str) -> tuple[Path, ...]:
        """Return what must be synced for a blob to be durable: the file, then each directory above it."""
        path = self.path(digest)
        bucket, directory, root, *_ = path.parents
        return path, bucket, directory, root

    def put(self, data: bytes) -> str:
        """Store bytes and return their digest; durable once `paths_to_sync` are synced."""
        digest = hashlib.sha256(data).hexdigest()
        path = self.path(digest)
        if _has_content(path, data):
            return digest
        draft = path.with_name(f".{os.urandom(8).hex()}")
        try:
            # `parents=True` would ignore the mode.
            for directory in (self._directory, path.parent):
                Path(directory).mkdir(mode=DIRECTORY_MODE, exist_ok=True)
            write_new(draft, data)
            draft.replace(path)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise StorageFailed(f"a blob could not be written: {error.strerror}") from error
        return digest

    def get(self, digest: str) -> bytes:
        """Return the verified bytes of a blob; a fork also looks in the runs it was forked from."""
        store = next((candidate for candidate in (self, *self._inherited) if candidate.has(digest)), self)
        try:
            data = read_regular(store.path(digest), MAX_BLOB_BYTES)
        except FileNotFoundError:
            raise NotFound(f"the blob `{digest[:12]}…` is missing from this run") from None
        except OSError as error:
            raise LogCorrupt(f"the blob `{digest[:12]}…` cannot be read: {error_reason(error)}") from error
        if hashlib.sha256(data).hexdigest() != digest:
            raise LogCorrupt(f"the blob `{digest[:12]}…` does not match its digest")
        return data


def _has_content(path: Path, data: bytes) -> bool:
    """Return whether the file has this content; a crash can leave it empty or short."""
    try:
        return read_regular(path, len(data)) == data
    except OSError:
        return False
