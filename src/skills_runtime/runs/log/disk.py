"""The system calls behind the Disk port."""

import ctypes
import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path


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


WHOLE = frozenset({0xEF53, 0x58465342, 0x9123683E, 0xF2F52010, 0x01021994})
"""File systems of the kernel (ext, XFS, Btrfs, F2FS, tmpfs), which sync all they hold when they are asked to."""


def can_sync_whole(fd: int) -> bool:
    """Whether one call makes everything on this file system durable."""
    if sys.platform != "linux":
        return False
    buffer = ctypes.create_string_buffer(256)
    return _libc().fstatfs(fd, buffer) == 0 and int.from_bytes(buffer.raw[:4], sys.byteorder) in WHOLE


def sync_whole(fd: int) -> None:
    """Make everything on a file system durable; an error since the descriptor was opened is raised."""
    if _libc().syncfs(fd) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def sync_path(path: str) -> None:
    """Make a file or a directory entry durable."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def make_directories(path: Path, *, mode: int) -> list[Path]:
    """Make a directory and what is missing above it, durably; returns what was made, outermost first."""
    made: list[Path] = []
    try:
        for one in reversed([one for one in (path, *path.parents) if not one.exists()]):
            one.mkdir(mode=mode, exist_ok=True)
            made.append(one)
            sync_path(str(one.parent))
    except OSError:
        remove_empty(made)
        raise
    return made


def remove_empty(directories: list[Path]) -> None:
    """Take back directories, innermost last in the list, that nobody has put anything into."""
    for one in reversed(directories):
        with suppress(OSError):
            one.rmdir()
