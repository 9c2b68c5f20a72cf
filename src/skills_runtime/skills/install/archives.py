"""Unpacks an archive that somebody else made: everything is checked before the first byte is written.

A zip (also one called `.skill`) or a tar, packed with gzip or not. What is written is counted as it comes, since the
sizes an archive tells of itself are only a claim.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.skills.install.durable import remove_whole
from skills_runtime.skills.install.names import refuse_clashes, refused, safe_parts

ArchiveKind = Literal["zip", "tar"]

_PIECE = 1 << 16
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LITTER = ("__MACOSX", ".DS_Store")


class ArchiveLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much an archive may hold."""

    archive_bytes: int = 64 << 20
    members: int = 5_000
    file_bytes: int = 64 << 20
    total_bytes: int = 128 << 20
    ratio: int = 200
    """How many times its packed size a file may have, once it is larger than `ratio_from`."""
    ratio_from: int = 1 << 20
    directory_bytes: int = 4 << 20
    """The longest list of contents of a zip."""


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of an archive, as the archive describes it."""

    name: str
    kind: Literal["file", "directory", "link", "special"]
    size: int = 0
    packed: int | None = None
    executable: bool = False
    encrypted: bool = False


class Content(Protocol):
    """The bytes of one file, to be read once."""

    def read(self, size: int, /) -> bytes:
        """The next bytes, none at the end."""
        ...

    def close(self) -> None:
        """Let it go."""
        ...


class Archive(Protocol):
    """An archive whose list of contents has been read."""

    def members(self) -> Sequence[Member]:
        """Everything in it, in its order."""
        ...

    def open(self, index: int) -> Content:
        """The content of the member at a place in the list."""
        ...


def unpack(archive: Path, into: Path, limits: ArchiveLimits | None = None) -> None:
    """Write the contents of an archive below a new directory, or refuse and leave nothing of it."""
    from skills_runtime.skills.install.tar_archives import opened_tar
    from skills_runtime.skills.install.zip_archives import opened_zip

    allowed = limits or ArchiveLimits()
    try:
        size = archive.stat().st_size
    except OSError as error:
        raise NotFound(f"the archive `{archive}` cannot be read: {error.strerror}", hint="check the path") from error
    if size > allowed.archive_bytes:
        raise bad_archive(f"it has {size} bytes, and {allowed.archive_bytes} are the most that is read")
    reading = opened_zip if kind_of(archive) == "zip" else opened_tar
    with reading(archive, allowed) as contents:
        members = contents.members()
        places = checked_places(members, allowed)
        try:
            _write(contents, members, places, into, allowed)
        except BaseException:
            remove_whole(into)
            raise


def kind_of(archive: Path) -> ArchiveKind:
    """What sort of archive a file is, by its first bytes; its name says nothing."""
    with archive.open("rb") as file:
        start = file.read(265)
    if start[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return "zip"
    if start[:2] == b"\x1f\x8b" or start[257:262] == b"ustar":
        return "tar"
    raise bad_archive("it is neither a zip nor a tar")


def checked_places(members: Sequence[Member], limits: ArchiveLimits) -> list[tuple[str, ...] | None]:
    """Where each member goes, or nothing for litter; refuses an archive with anything that is not plain."""
    if len(members) > limits.members:
        raise bad_archive(f"it has {len(members)} entries, and {limits.members} are the most")
    places: list[tuple[str, ...] | None] = []
    for member in members:
        parts = safe_parts(member.name)
        _refuse_odd(member, limits)
        places.append(None if parts and (parts[0] in _LITTER or parts[-1] in _LITTER) else parts)
    if sum(member.size for member in members) > limits.total_bytes:
        raise bad_archive(f"it would unpack to more than {limits.total_bytes >> 20} MiB")
    kept = list(zip(members, places, strict=True))
    refuse_clashes(
        [parts for member, parts in kept if parts is not None and member.kind == "file"],
        [parts for member, parts in kept if parts is not None and member.kind == "directory"],
    )
    return places


def bad_archive(why: str) -> ValidationFailed:
    """The error for an archive that is not unpacked."""
    return ValidationFailed(
        f"the archive was refused: {why}",
        hint="nothing was unpacked; a skill is a small archive of plain files",
        details={"code": "SKILL_INSTALL_BAD_ARCHIVE"},
    )


def _refuse_odd(member: Member, limits: ArchiveLimits) -> None:
    if member.kind == "link":
        raise refused(member.name, "it is a link")
    if member.kind == "special":
        raise refused(member.name, "it is a device, a pipe or something else that is no file")
    if member.encrypted:
        raise refused(member.name, "it is encrypted, so nobody can look at it first")
    if member.kind == "file" and not safe_parts(member.name):
        raise refused(member.name, "it has no name")
    if member.size < 0 or member.size > limits.file_bytes:
        raise bad_archive(f"`{member.name[:100]}` would have more than {limits.file_bytes >> 20} MiB")
    if member.packed is not None and is_bomb(member.size, member.packed, limits):
        raise bad_archive(f"`{member.name[:100]}` would grow more than {limits.ratio} times")


def is_bomb(size: int, packed: int, limits: ArchiveLimits) -> bool:
    """Whether something grows by more than any plain file does."""
    return size > limits.ratio_from and size > max(packed, 1) * limits.ratio


def _write(
    archive: Archive,
    members: Sequence[Member],
    places: Sequence[tuple[str, ...] | None],
    into: Path,
    limits: ArchiveLimits,
) -> None:
    into.mkdir(mode=0o700)
    room = limits.total_bytes
    for index, (member, parts) in enumerate(zip(members, places, strict=True)):
        if not parts:
            continue
        target = into.joinpath(*parts)
        if member.kind == "directory":
            target.mkdir(mode=0o755, parents=True, exist_ok=True)
            continue
        target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        # Only whether it can be run is kept of its mode: nothing that is installed changes who somebody is.
        fd = os.open(target, _NEW, 0o755 if member.executable else 0o644)
        with open(fd, "wb") as file, closing(archive.open(index)) as content:
            for piece in _exactly(content, member):
                file.write(piece)
                room -= len(piece)
                if room < 0:
                    raise bad_archive("it holds more than it says")


def _exactly(content: Content, member: Member) -> Iterator[bytes]:
    left = member.size
    while piece := content.read(min(_PIECE, left + 1)):
        left -= len(piece)
        if left < 0:
            raise bad_archive(f"`{member.name[:100]}` is longer than the archive says")
        yield piece
    if left:
        raise bad_archive(f"`{member.name[:100]}` is shorter than the archive says")
