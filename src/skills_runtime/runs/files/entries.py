"""What is in a directory, without following anything that is in it."""

import os
import stat
from collections.abc import Iterator
from typing import Literal

import msgspec

from skills_runtime.errors import ValidationFailed
from skills_runtime.runs.files.locate import Place
from skills_runtime.runs.files.paths import shown
from skills_runtime.storage.nofollow import LISTING, first_names

Kind = Literal["file", "directory", "symlink", "special"]

MAX_LISTED = 10_000

_KINDS: dict[int, Kind] = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink"}


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One name and what it stands for."""

    name: str
    kind: Kind
    size: int
    mode: int
    modified_ns: int


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """The entries of a directory, sorted; `complete` is false when there are more."""

    entries: tuple[Entry, ...]
    complete: bool


def is_text(name: str) -> bool:
    """Whether a name from the disk was valid UTF-8."""
    return not any("\ud800" <= char <= "\udfff" for char in name)


def spelled(name: str) -> str:
    """The name as text: one that is not valid UTF-8 has those bytes, and its `%`, written as `%XX`."""
    if is_text(name):
        return name
    return "".join(f"%{byte:02X}" if byte >= 0x80 or byte == 0x25 else chr(byte) for byte in os.fsencode(name))


def kind_of(found: os.stat_result) -> Kind:
    """What sort of thing it is."""
    return _KINDS.get(stat.S_IFMT(found.st_mode), "special")


def entry_of(name: str, found: os.stat_result) -> Entry:
    """The facts of one name."""
    return Entry(
        name=spelled(name),
        kind=kind_of(found),
        size=found.st_size,
        mode=stat.S_IMODE(found.st_mode),
        modified_ns=found.st_mtime_ns,
    )


def list_directory(place: Place) -> Listing:
    """The entries of the directory of that name."""
    try:
        fd = os.open(place.name, LISTING, dir_fd=place.parent)
    except NotADirectoryError as error:
        raise ValidationFailed(f"`{shown(str(place.location))}` is not a directory", hint="read it instead") from error
    try:
        names = first_names(fd, MAX_LISTED + 1)
        return Listing(entries=tuple(_entries(fd, names[:MAX_LISTED])), complete=len(names) <= MAX_LISTED)
    finally:
        os.close(fd)


def _entries(directory: int, names: list[str]) -> Iterator[Entry]:
    for name in names:
        try:
            found = os.stat(name, dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            continue  # gone meanwhile
        yield entry_of(name, found)
