"""The system calls behind the Disk port."""

import ctypes
import os
import sys
from collections.abc import Iterable
from functools import cache

from skills_runtime.storage.files import sync_path

WHOLE = frozenset({0xEF53, 0x58465342, 0x9123683E, 0xF2F52010, 0x01021994})
"""File systems of the kernel (ext, XFS, Btrfs, F2FS, tmpfs), which sync all they hold when they are asked to."""
_TELLS_ERRORS = (5, 8)
"""The first Linux whose sync of a whole file system says that something could not be written."""


class SystemDisk:
    """The real disk."""

    def write(self, fd: int, data: bytes) -> int:
        """Append bytes; may write fewer than given."""
        return os.write(fd, data)

    def sync(self, fd: int) -> None:
        """Return only when the data is on stable storage."""
        if sys.platform == "darwin":
            import fcntl

            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
        else:
            os.fdatasync(fd)

    def truncate(self, fd: int, size: int) -> None:
        """Cut the file."""
        os.ftruncate(fd, size)


def can_sync_whole(fd: int) -> bool:
    """Whether one call makes everything on this file system durable, and tells when it could not."""
    if not _tells_errors():
        return False
    buffer = ctypes.create_string_buffer(256)
    return _libc().fstatfs(fd, buffer) == 0 and int.from_bytes(buffer.raw[:4], sys.byteorder) in WHOLE


def sync_whole(fd: int) -> None:
    """Make everything on a file system durable; an error since the descriptor was opened is raised."""
    if _libc().syncfs(fd) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


@cache
def _tells_errors() -> bool:
    if sys.platform != "linux":
        return False
    major, minor, *_ = os.uname().release.split(".")
    return (int(major), int(minor)) >= _TELLS_ERRORS


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def sync_files(directory: str, names: Iterable[str]) -> None:
    """Make files of a directory durable, and after them the names it has."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in names:
            sync_path(name, dir_fd=fd)
        os.fsync(fd)
    finally:
        os.close(fd)
