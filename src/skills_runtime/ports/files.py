"""The files a run may touch."""

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

FileKind = Literal["file", "directory", "symlink", "special"]


class FileEntry(Protocol):
    """One name in a directory, and what it stands for without following it."""

    @property
    def name(self) -> str:
        """The last part of its path."""
        ...

    @property
    def kind(self) -> FileKind:
        """What sort of thing it is."""
        ...

    @property
    def size(self) -> int:
        """How many bytes it has."""
        ...


class DirectoryListing(Protocol):
    """What is in a directory, sorted by name; `complete` is false when there is more."""

    @property
    def entries(self) -> Sequence[FileEntry]:
        """What was found."""
        ...

    @property
    def complete(self) -> bool:
        """Whether that is all."""
        ...


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """One file as it was and as it shall be."""

    path: str
    before_sha256: str | None
    """The digest of what is there; nothing means that the name must be free."""
    data: bytes | None
    """The whole new content; nothing means that the file is taken away."""
    moved_to: str | None = None
    """The new name of the file, which must be free."""


class Files(Protocol):
    """The files a run may touch; every operation is checked and recorded."""

    def read(self, path: str, *, limit: int) -> bytes:
        """The first `limit` bytes of a file."""
        ...

    def glance(self, path: str, *, limit: int) -> bytes | None:
        """What a change would replace, for whoever judges it: checked like a change, and only a refusal is recorded."""
        ...

    def real(self, path: str) -> str:
        """Where a path really leads, links followed, or the path itself where that cannot be told; records nothing."""
        ...

    def write(self, path: str, data: bytes, *, create_dirs: bool) -> int:
        """Replace a file atomically; returns the number of bytes."""
        ...

    def delete(self, path: str) -> None:
        """Move a file to the run's trash, where deleting is allowed at all."""
        ...

    def rename(self, source: str, target: str) -> None:
        """Give a file another name; for the old name this is a delete."""
        ...

    def apply(self, changes: Sequence[FileChange]) -> None:
        """Make several changes, all of them or none."""
        ...

    def list(self, path: str) -> DirectoryListing:
        """What is in a directory."""
        ...

    def stat(self, path: str) -> FileEntry:
        """What a path leads to, without its content."""
        ...

    def for_call(self, call_id: str) -> "Files":
        """The same files, with every record naming a call."""
        ...
