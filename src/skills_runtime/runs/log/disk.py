"""The system calls behind the Disk port."""

import os
import sys
from contextlib import suppress
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
