"""What a layer over a workspace is made of: entries of a tree, the layer itself, and what changed in it."""

import stat
from pathlib import Path
from typing import Literal

import msgspec

Kind = Literal["file", "directory", "link", "other"]
Mode = Literal["copy", "mount"]
"""The layer is a copy of everything; or it holds what differs, and the kernel lays it over the workspace."""
ChangeKind = Literal["added", "changed", "removed"]

KINDS: dict[int, Kind] = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "link"}


class Entry(msgspec.Struct, frozen=True):
    """Something in a tree, by what a person would call the same."""

    kind: Kind
    mode: int = 0
    """Permissions; nothing for a link, which has none."""
    content: str = ""
    """The digest of a file, or where a link leads."""
    size: int = 0

    @property
    def is_directory(self) -> bool:
        """Whether it holds others."""
        return self.kind == "directory"


class Stamp(msgspec.Struct, frozen=True):
    """By which a file is known not to have been touched, without reading it."""

    inode: int
    changed: int
    size: int


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What the workspace was when the layer was laid over it."""

    version: int = 1
    mode: Mode = "copy"
    workspace: str
    base: dict[str, Entry]
    """By the path within the workspace; nothing where the workspace itself still shows."""
    stamps: dict[str, Stamp]
    """Of the copies in the layer, or where there are none of the workspace."""
    left_out: tuple[str, ...] = ()
    """Not copied: what is hidden from commands, and what is neither file nor directory nor link."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One difference between the workspace as it was and the layer."""

    path: str
    kind: ChangeKind
    before: Entry | None = None
    after: Entry | None = None


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """What a commit would do."""

    changes: tuple[Change, ...] = ()
    withheld: tuple[Change, ...] = ()
    """What is never committed: protected names, secrets, and what is no file."""

    def __bool__(self) -> bool:
        return bool(self.changes or self.withheld)


class Layer(msgspec.Struct, frozen=True, kw_only=True):
    """A layer over a workspace, in the runtime's own directory within it."""

    name: str
    workspace: Path
    mode: Mode = "copy"

    @property
    def home(self) -> Path:
        """Its directory."""
        return layers_of(self.workspace) / self.name

    @property
    def tree(self) -> Path:
        """What commands see in place of the workspace."""
        return self.home / "tree"

    @property
    def work(self) -> Path:
        """Where the kernel prepares what it writes to the layer, if it is the one who does."""
        return self.home / "work"

    @property
    def manifest(self) -> Path:
        """The file that tells what the workspace was."""
        return self.home / "manifest.json"

    @property
    def staging(self) -> Path:
        """Where files are made before they are put into the workspace by one rename."""
        return self.home / "staging"


def layers_of(workspace: Path) -> Path:
    """Where the layers of a workspace are: hidden from every command, on the same disk."""
    from skills_runtime.sandbox.protected import RUNTIME_DIRECTORY

    return workspace / RUNTIME_DIRECTORY / "layers"
