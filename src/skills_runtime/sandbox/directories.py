"""Reads one directory for a survey, and remembers it for as long as it has not changed.

What is remembered goes by the time of the last change that the kernel keeps, which nobody can set back.
"""

import errno
import os
import stat
import time

import msgspec

from skills_runtime.sandbox.protected import CREDENTIALS, READ_ONLY, RUNTIME_DIRECTORY, SECRETS, SKIPPED

UNSETTLED_NS = 20_000_000
"""A directory that changed so shortly before it was read may have changed again within the same tick of its clock."""
MAX_LENGTH = 3800
"""Of a path: what lies deeper can be neither looked at nor covered."""

_MAX_SEEN = 250_000
_NAMED = READ_ONLY | CREDENTIALS | {RUNTIME_DIRECTORY}
_SPECIAL = _NAMED | SKIPPED
_BARE = {"HEAD", "objects", "refs"}
_NONE: frozenset[str] = frozenset()


class Directory(msgspec.Struct, frozen=True, gc=False):
    """What is notable in a directory."""

    changed: int
    inode: int
    plain: tuple[str, ...] = ()
    """The paths of subdirectories whose names say nothing."""
    special: tuple[str, ...] = ()
    """The paths of those whose names do."""
    names: frozenset[str] = _NONE
    """Those that say something, of files, directories and links."""
    links: frozenset[str] = _NONE
    directories: frozenset[str] = _NONE
    bare: bool = False
    """Git would take the directory itself for a repository."""
    quiet: bool = False
    """Nothing is notable but that there are plain subdirectories."""


class Closed(msgspec.Struct, frozen=True):
    """A directory that this user cannot look into."""

    too_deep: bool = False


_CLOSED = Closed()
_TOO_DEEP = Closed(too_deep=True)
_seen: dict[str, Directory] = {}


def read_directory(path: str) -> Directory | Closed | None:
    """What is notable in it now; nothing when it is gone or is none."""
    if len(path) > MAX_LENGTH:
        return _TOO_DEEP
    try:
        # A path object for each of many thousands of directories would cost more than the look itself.
        found = os.lstat(path)
        known = _seen.get(path)
        if known is not None and known.changed == found.st_ctime_ns and known.inode == found.st_ino:
            return known
        return _read(path, found)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return _TOO_DEEP
        return _CLOSED if error.errno in (errno.EACCES, errno.EPERM) else None


def _read(path: str, found: os.stat_result) -> Directory | Closed | None:
    if not stat.S_ISDIR(found.st_mode):
        return None
    now = time.clock_gettime_ns(time.CLOCK_REALTIME)
    with os.scandir(path) as entries:
        directory = _summary(path, found, list(entries))
    if not os.access(path, os.X_OK):
        return _CLOSED
    if len(_seen) >= _MAX_SEEN:
        _seen.clear()
    if found.st_ctime_ns + UNSETTLED_NS < now:
        _seen[path] = directory
    return directory


def _summary(path: str, found: os.stat_result, entries: "list[os.DirEntry[str]]") -> Directory:
    inside = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
    notable = [entry for entry in entries if entry.name.startswith(".") and _is_notable(entry.name)]
    bare = _BARE.issubset({entry.name for entry in entries})
    special = tuple(f"{path}/{entry.name}" for entry in inside if entry.name in _SPECIAL)
    return Directory(
        changed=found.st_ctime_ns,
        inode=found.st_ino,
        plain=tuple(f"{path}/{entry.name}" for entry in inside if entry.name not in _SPECIAL),
        special=special,
        names=frozenset(entry.name for entry in notable) if notable else _NONE,
        links=frozenset(entry.name for entry in notable if entry.is_symlink()) if notable else _NONE,
        directories=frozenset(entry.name for entry in notable if _is_directory(entry)) if notable else _NONE,
        bare=bare,
        quiet=not (bare or special or notable),
    )


def _is_notable(name: str) -> bool:
    return name in _NAMED or name.startswith(SECRETS)


def _is_directory(entry: "os.DirEntry[str]") -> bool:
    return entry.is_dir(follow_symlinks=False)
