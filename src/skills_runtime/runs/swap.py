"""Replacing a file by changing places with a spare one.

To make and to remove a file costs a disk many times what it costs to write one that is there, so a run keeps one spare.
"""

import fcntl
import os
import stat
from pathlib import Path

from skills_runtime.runs.layout import FILE_MODE
from skills_runtime.storage.files import exchange, explain_write, write_all, write_atomic

SPARE = "logs/spare"

_NEW_OR_OLD = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_WRITE_LEASE = getattr(fcntl, "F_WRLCK", 1)


def swap(path: str, data: bytes, spare: str) -> None:
    """Replace a file of the run by way of its spare one; a reader sees the old bytes or the new ones, never a part."""
    with explain_write(path):
        if not _swapped(path, data, spare):
            write_atomic(path, data, durable=False)


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
    try:
        return exchange(spare, path)
    except OSError:
        return False


def _unread(fd: int) -> bool:
    """Whether nobody has the spare file open: it was the file itself once, and its readers must not see it change."""
    try:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, _WRITE_LEASE)  # given only when there is no other descriptor
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except (AttributeError, OSError):
        return False
    return True


def spare_of(root: Path) -> str:
    """Where the spare file of a run is."""
    return f"{root}/{SPARE}"
