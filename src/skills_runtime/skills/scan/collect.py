"""Reads the files of a directory within bounds: no link is followed, nothing is opened that is not a plain file."""

import os
import stat
from pathlib import Path

import msgspec

from skills_runtime.skills.scan.report import Skipped
from skills_runtime.storage.nofollow import LISTING, error_reason, open_below, open_directory, read_below

MAX_FILES = 2_000
MAX_DEPTH = 12
MAX_FILE_BYTES = 512_000
"""What is read of one file; a payload that is further behind is beyond a static scan."""
MAX_TOTAL_BYTES = 8_000_000
_IGNORED = frozenset({".git", "node_modules", ".venv", "venv", ".hg", ".svn"})


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the skill: its name below the directory, how it begins, and how long it is."""

    name: str
    data: bytes
    size: int
    is_executable: bool = False


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """A symbolic link, which is told and not followed."""

    name: str
    target: str
    leads_out: bool


class Collected(msgspec.Struct, frozen=True, kw_only=True):
    """Everything of a directory that a scan looks at."""

    members: tuple[Member, ...]
    links: tuple[Link, ...] = ()
    skipped: tuple[Skipped, ...] = ()


class _Walk:
    """The state of one walk: what was found, and how much may still be read."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.members: list[Member] = []
        self.links: list[Link] = []
        self.skipped: list[Skipped] = []
        self.left = MAX_TOTAL_BYTES

    def skip(self, name: str, why: str) -> None:
        self.skipped.append(Skipped(file=name, reason=why))


def collect(path: Path) -> Collected:
    """The files below a directory, in the order of their names."""
    real = path.resolve()
    walk = _Walk(real)
    with open_directory(real) as directory:
        _descend(walk, directory, ())
    return Collected(members=tuple(walk.members), links=tuple(walk.links), skipped=tuple(walk.skipped))


def _descend(walk: _Walk, top: int, parts: tuple[str, ...]) -> None:
    try:
        listing = open_below(top, parts, LISTING)
    except OSError as error:
        walk.skip("/".join(parts) or ".", error_reason(error))
        return
    try:
        names = sorted(os.listdir(listing))  # noqa: PTH208 - of an open directory, not of a path
        for name in names:
            if len(walk.members) >= MAX_FILES:
                walk.skip("/".join((*parts, name)), f"there are more than {MAX_FILES} files")
                return
            _take(walk, top, listing, (*parts, name))
    finally:
        os.close(listing)


def _take(walk: _Walk, top: int, listing: int, parts: tuple[str, ...]) -> None:
    name = "/".join(parts)
    try:
        status = os.stat(parts[-1], dir_fd=listing, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            walk.links.append(_link(walk.root, listing, parts))
        elif stat.S_ISDIR(status.st_mode):
            _enter(walk, top, parts)
        elif stat.S_ISREG(status.st_mode):
            _read(walk, top, parts, status)
        else:
            walk.skip(name, "is not a regular file")
    except OSError as error:
        walk.skip(name, error_reason(error))


def _enter(walk: _Walk, top: int, parts: tuple[str, ...]) -> None:
    if parts[-1] in _IGNORED:
        walk.skip("/".join(parts), "directories of this name are not looked into")
    elif len(parts) >= MAX_DEPTH:
        walk.skip("/".join(parts), f"is more than {MAX_DEPTH} directories deep")
    else:
        _descend(walk, top, parts)


def _read(walk: _Walk, top: int, parts: tuple[str, ...], status: os.stat_result) -> None:
    name = "/".join(parts)
    limit = min(MAX_FILE_BYTES, walk.left)
    if limit <= 0 and status.st_size:
        walk.skip(name, f"more than {MAX_TOTAL_BYTES} bytes were read before it")
        return
    data = read_below(top, parts, limit=limit)
    walk.left -= len(data)
    if len(data) < status.st_size:
        walk.skip(name, f"only its first {len(data)} bytes were read")
    executable = bool(status.st_mode & 0o111)
    walk.members.append(Member(name=name, data=data, size=status.st_size, is_executable=executable))


def _link(root: Path, listing: int, parts: tuple[str, ...]) -> Link:
    target = os.readlink(parts[-1], dir_fd=listing)
    joined = os.path.normpath(os.path.join(root, *parts[:-1], target))
    inside = joined == str(root) or joined.startswith(f"{root}{os.sep}")
    return Link(name="/".join(parts), target=target, leads_out=not inside)
