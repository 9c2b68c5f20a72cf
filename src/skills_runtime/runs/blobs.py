"""Private bytes of a run, named by their digest; events refer to them, nothing else may.

`blobs/sha256/ab/abcdef…`: written once, never changed.
"""

import hashlib
import os
from pathlib import Path

from skills_runtime.errors import LogCorrupt, NotFound, StorageFailed, ValidationFailed
from skills_runtime.runs.atomic import write_new
from skills_runtime.runs.layout import DIRECTORY_MODE


class Blobs:
    """The blobs of one run."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory / "sha256"

    def path(self, digest: str) -> Path:
        """Where the bytes with this digest are."""
        if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
            raise ValidationFailed(f"`{digest[:80]}` is not the name of a blob")
        return self._directory / digest[:2] / digest

    def put(self, data: bytes) -> tuple[str, Path | None]:
        """Keep bytes; returns their digest, and the path if it is new and must be synced with the next commit."""
        digest = hashlib.sha256(data).hexdigest()
        path = self.path(digest)
        if path.exists():
            return digest, None
        draft = path.with_name(f".{os.urandom(8).hex()}")
        try:
            path.parent.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
            write_new(draft, data)
            draft.replace(path)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise StorageFailed(f"a blob could not be written: {error.strerror}") from error
        return digest, path

    def get(self, digest: str) -> bytes:
        """The bytes with this digest, checked."""
        try:
            data = self.path(digest).read_bytes()
        except FileNotFoundError:
            raise NotFound(f"the blob `{digest[:12]}…` is missing from this run") from None
        if hashlib.sha256(data).hexdigest() != digest:
            raise LogCorrupt(f"the blob `{digest[:12]}…` does not hold what its name says")
        return data
