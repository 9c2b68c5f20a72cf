"""Small files that are seen whole or not at all, and those that only grow."""

import os
from pathlib import Path

from skills_runtime.errors import StorageFailed
from skills_runtime.runs.layout import FILE_MODE

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_new(path: Path | str, data: bytes, *, mode: int = FILE_MODE, dir_fd: int | None = None) -> None:
    """Create a file that must not exist yet."""
    fd = os.open(path, _NEW, mode, dir_fd=dir_fd)
    try:
        write_all(fd, data)
    finally:
        os.close(fd)


def replace(path: Path | str, data: bytes) -> None:
    """Replace a file; a reader sees the old bytes or the new ones, never a part."""
    directory, name = os.path.split(path)
    draft = os.path.join(directory, f".{name}.{os.getpid()}.{os.urandom(3).hex()}")
    try:
        write_new(draft, data)
        os.replace(draft, path)  # noqa: PTH105 - done for every run: a `Path` costs more than the call
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def rewrite(path: Path | str, data: bytes) -> None:
    """Replace a file of the run; raises `StorageFailed` when the disk does not let us."""
    try:
        replace(path, data)
    except OSError as error:
        raise StorageFailed(f"`{path}` could not be written: {error.strerror}") from error


def extend(path: Path | str, data: bytes) -> None:
    """Add to the end of a file of the run; whoever looks meanwhile sees a part of it."""
    if not data:
        return
    try:
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            write_all(fd, data)
        finally:
            os.close(fd)
    except OSError as error:
        raise StorageFailed(f"`{path}` could not be written: {error.strerror}") from error


def write_all(fd: int, data: bytes) -> None:
    """Write every byte."""
    written = os.write(fd, data) if data else 0
    while written < len(data):  # a disk that becomes full takes a part, and refuses only the rest
        written += os.write(fd, memoryview(data)[written:])
