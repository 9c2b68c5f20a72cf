"""The files that a run may touch, and which of them its processes can reach."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

FileKind = Literal["file", "directory", "symlink", "special"]


class FileEntry(Protocol):
    """One directory entry, without following links."""

    @property
    def name(self) -> str:
        """Return the last part of its path."""
        ...

    @property
    def kind(self) -> FileKind:
        """Return its file type."""
        ...

    @property
    def size(self) -> int:
        """Return its size in bytes."""
        ...


class DirectoryListing(Protocol):
    """The entries of a directory, sorted by name; `complete` is false if there are more."""

    @property
    def entries(self) -> Sequence[FileEntry]:
        """Return the entries."""
        ...

    @property
    def complete(self) -> bool:
        """Return whether these are all."""
        ...


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """One file before and after a change."""

    path: str
    before_sha256: str | None
    """The digest of the current content; `None` means that the name must be free."""
    data: bytes | None
    """The whole new content; `None` means that the file is removed."""
    moved_to: str | None = None
    """The new name of the file, which must be free."""


class Files(Protocol):
    """The files that a run may touch; every operation is checked and recorded."""

    def read(self, path: str, *, limit: int) -> bytes:
        """Read the first `limit` bytes of a file."""
        ...

    def glance(self, path: str, *, limit: int) -> bytes | None:
        """Read what a change would replace, for the approver: checked like a change; only a refusal is recorded."""
        ...

    def real(self, path: str) -> str:
        """Resolve the links of a path, or return it unchanged if that fails; records nothing."""
        ...

    def write(self, path: str, data: bytes, *, create_dirs: bool) -> int:
        """Replace a file atomically; return the number of bytes."""
        ...

    def delete(self, path: str) -> None:
        """Move a file to the run's trash, if deleting is allowed."""
        ...

    def rename(self, source: str, target: str) -> None:
        """Rename a file; for the old name this is a delete."""
        ...

    def apply(self, changes: Sequence[FileChange]) -> None:
        """Apply several changes, all or none."""
        ...

    def list(self, path: str) -> DirectoryListing:
        """List a directory."""
        ...

    def stat(self, path: str) -> FileEntry:
        """Return the entry at a path, without its content."""
        ...

    def for_call(self, call_id: str) -> "Files":
        """Return the same files, with every record naming a call."""
        ...


MAX_LISTED_PATHS = 30
"""Maximum length of each list; longer ones are counted."""


class FileAccess(msgspec.Struct, frozen=True, kw_only=True):
    """Paths by what a command can do there; the innermost path that contains a file applies."""

    workspace: Path
    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    """Readable but not writable, besides the system."""
    system: tuple[str, ...] = ()
    """Programs and settings of the machine, which are readable too."""
    temporary: str = ""
    """A directory private to the command and removed afterwards; empty if there is none."""
    protected: tuple[Path, ...] = ()
    """Not writable or creatable, although the containing directory is writable."""
    hidden: tuple[Path, ...] = ()
    """Neither readable nor writable."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data of bounded size: the beginning of each list, and the number left out."""
        lists = {
            "writable": self.writable,
            "readable": self.readable,
            "system": self.system,
            "protected": self.protected,
            "hidden": self.hidden,
        }
        left_out = {
            name: len(paths) - MAX_LISTED_PATHS for name, paths in lists.items() if len(paths) > MAX_LISTED_PATHS
        }
        return {
            "workspace": _text(self.workspace),
            **{name: list(_texts(paths)) for name, paths in lists.items()},
            "temporary": self.temporary,
            "left_out": left_out,
        }


def _texts(paths: Iterable[Path | str]) -> Iterable[str]:
    return (_text(path) for path, _ in zip(paths, range(MAX_LISTED_PATHS), strict=False))


def _text(path: Path | str) -> str:
    """Return the path as text, also if its name is not valid Unicode."""
    return str(path).encode(errors="backslashreplace").decode()
