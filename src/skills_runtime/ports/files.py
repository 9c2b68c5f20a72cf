"""The files a run may touch, and which of them the processes it starts can reach."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

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


MAX_LISTED_PATHS = 30
"""Of each list; of what is longer the number is told."""


class FileAccess(msgspec.Struct, frozen=True, kw_only=True):
    """Places by what a command can do there; where one lies in another, the inner one counts."""

    workspace: Path
    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    """What can be read and not written, besides the system."""
    system: tuple[str, ...] = ()
    """Programs and settings of the machine, which can be read as well."""
    temporary: str = ""
    """Where only the command sees what it writes, which is gone afterwards; nothing if there is no such place."""
    protected: tuple[Path, ...] = ()
    """What cannot be written, or made, although the directory it lies in can."""
    hidden: tuple[Path, ...] = ()
    """What can neither be read nor written."""

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data of bounded size: each list by its beginning, and how much of it is left out."""
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
    """The path as text, also where its name is none."""
    return str(path).encode(errors="backslashreplace").decode()
