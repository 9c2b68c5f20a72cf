"""Replacing a file by changing places with a spare one.

To make and to remove a file costs a disk many times what it costs to write one that is there, so a run keeps one spare.
"""

import ctypes
import fcntl
import os
import stat
from functools import cache
from pathlib import Path

from skills_runtime.errors import StorageFailed
from skills_runtime.runs.atomic import replace, write_all
from skills_runtime.runs.layout import FILE_MODE

SPARE = "logs/spare"

_NEW_OR_OLD = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_HERE = -100
_EXCHANGE = 2
_WRITE_LEASE = getattr(fcntl, "F_WRLCK", 1)


def swap(path: str, data: bytes, spare: str) -> None:
    """Replace a file of the run by way of its spare one; a reader sees the old bytes or the new ones, never a part."""
    try:
        if not _swapped(path, data, spare):
            replace(path, data)
    except OSError as error:
        raise StorageFailed(f"`{path}` could not be written: {error.strerror}") from error


def _swapped(path: str, data: bytes, spare: str) -> bool:
    """Whether the two have changed places; where that cannot be, the file is as it was."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):  # which would become the spare one
            return False
        fd = os.open(spare, _NEW_OR_OLD, FILE_MODE)
    except OSError:
        return False
    try:
        if not _unread(fd):
            return False
        write_all(fd, data)
        os.ftruncate(fd, len(data))
    except OSError:
        Path(spare).unlink(missing_ok=True)  # a disk that is full
        raise
    finally:
        os.close(fd)
    return _exchange(spare, path)


def _unread(fd: int) -> bool:
    """Whether nobody has the spare file open: it was the file itself once, and its readers must not see it change."""
    try:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, _WRITE_LEASE)  # given only when there is no other descriptor
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except (AttributeError, OSError):
        return False
    return True


def _exchange(one: str, other: str) -> bool:
    try:
        return _library().renameat2(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0
    except AttributeError:  # not Linux, or an old C library
        return False


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def spare_of(root: Path) -> str:
    """Where the spare file of a run is."""
    return f"{root}/{SPARE}"
