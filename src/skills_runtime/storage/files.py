"""Atomic files, digests of open files, durable directories and removal.

Nothing here follows a link in the last component of a path. `durable` means: on stable storage when the call returns.
"""

import ctypes
import errno
import fcntl
import hashlib
import os
import stat
import struct
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from skills_runtime.errors import StorageFailed

PRIVATE_FILE = 0o600
PRIVATE_DIRECTORY = 0o700

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_UNNAMED = os.O_WRONLY | os.O_CLOEXEC | getattr(os, "O_TMPFILE", os.O_DIRECTORY)
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: opening a named pipe in place of a file must not block before its type is checked.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_CHUNK_BYTES = 1 << 20
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_LONG = struct.calcsize("l") << 16
_FS_IOC_GETFLAGS, _FS_IOC_SETFLAGS = 0x80006601 | _LONG, 0x40006602 | _LONG
_FS_TOPDIR_FLAG = 0x20000
_EXCHANGE_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)


def write_atomic(
    path: Path | str,
    data: bytes,
    *,
    mode: int = PRIVATE_FILE,
    durable: bool = True,
    replace: bool = True,
    dir_fd: int | None = None,
) -> None:
    """Write a file so that a reader sees the old bytes or the new ones, never a part.

    Without `replace` an existing file stays, and `FileExistsError` is raised.
    """
    with atomic_file(path, mode=mode, durable=durable, replace=replace, dir_fd=dir_fd) as fd:
        write_all(fd, data)


@contextmanager
def atomic_file(
    path: Path | str,
    *,
    mode: int = PRIVATE_FILE,
    durable: bool = True,
    replace: bool = True,
    dir_fd: int | None = None,
) -> Generator[int]:
    """Yield a descriptor to write a file in pieces; it is published when the block ends without an error."""
    staged = StagedFile(path, mode, dir_fd=dir_fd)
    try:
        yield staged.fd
        if durable:
            os.fsync(staged.fd)
        staged.publish(replace=replace)
    finally:
        staged.discard()
    if durable:
        sync_path(os.path.dirname(path) or ".", dir_fd=dir_fd)  # noqa: PTH120 - a `Path` costs more than the call


class StagedFile:
    """The next content of a file, in the same directory, until it is published or discarded.

    Where the file system supports it, it has no name until then, so a killed process leaves nothing behind.
    """

    def __init__(self, path: Path | str, mode: int, *, dir_fd: int | None = None) -> None:
        self._path = path
        self._dir_fd = dir_fd
        directory, name = os.path.split(path)
        # Forty characters are at most 160 bytes, which leaves room in the longest file name.
        self._temporary_path = os.path.join(directory, f".{name[:40]}.{os.getpid()}.{os.urandom(6).hex()}")
        self._has_name = False
        if dir_fd is not None:
            with suppress(OSError):  # unsupported or forbidden: the fallback reports which
                self.fd = os.open(directory or ".", _UNNAMED, mode, dir_fd=dir_fd)
                return
        self.fd = open_new(self._temporary_path, mode=mode, dir_fd=dir_fd)
        self._has_name = True

    def publish(self, *, replace: bool = True) -> None:
        """Rename it to its final name; without `replace`, raise an error if the name exists."""
        dir_fd = self._dir_fd
        if not self._has_name:
            target = self._temporary_path if replace else self._path
            os.link(f"/proc/self/fd/{self.fd}", target, dst_dir_fd=dir_fd, follow_symlinks=True)
            self._has_name = replace
        elif not replace:
            os.link(self._temporary_path, self._path, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
        if replace:
            os.rename(self._temporary_path, self._path, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
            self._has_name = False

    def discard(self) -> None:
        """Close it; without a `publish` its content is lost."""
        os.close(self.fd)
        if self._has_name:
            with suppress(OSError):
                os.unlink(self._temporary_path, dir_fd=self._dir_fd)


def open_new(path: Path | str, *, mode: int = PRIVATE_FILE, dir_fd: int | None = None) -> int:
    """Create a file that must not exist, open for writing."""
    return os.open(path, _NEW, mode, dir_fd=dir_fd)


def write_new(
    path: Path | str, data: bytes, *, mode: int = PRIVATE_FILE, dir_fd: int | None = None, durable: bool = False
) -> None:
    """Write a file that must not exist; its name becomes durable with its directory."""
    fd = open_new(path, mode=mode, dir_fd=dir_fd)
    try:
        write_all(fd, data)
        if durable:
            os.fsync(fd)
    finally:
        os.close(fd)


@contextmanager
def stage_directory(path: Path, *, mode: int = PRIVATE_DIRECTORY) -> Generator[Path]:
    """Yield a hidden directory beside `path`; it is renamed to `path` when the block ends without an error.

    An existing non-empty `path` stays, and `OSError` is raised.
    """
    staging = path.with_name(f".{path.name[:40]}.{os.getpid()}.{os.urandom(6).hex()}")
    staging.mkdir(mode=PRIVATE_DIRECTORY)
    try:
        yield staging
        staging.chmod(mode)
        staging.rename(path)
    except BaseException:
        remove_tree(staging, ignore_errors=True)
        raise


def append(path: Path | str, data: bytes) -> None:
    """Append to an existing file; not atomic for concurrent readers."""
    fd = os.open(path, _APPEND)
    try:
        write_all(fd, data)
    finally:
        os.close(fd)


@contextmanager
def wrap_write_errors(path: Path | str) -> Generator[None]:
    """Convert an `OSError` into a `StorageFailed` that names the file."""
    try:
        yield
    except OSError as error:
        raise StorageFailed(f"`{path}` could not be written: {error.strerror}") from error


def write_all(fd: int, data: bytes) -> None:
    """Write all bytes, repeating short writes."""
    count = os.write(fd, data) if data else 0
    # A disk that becomes full writes a part first and fails afterwards.
    while count < len(data):
        count += os.write(fd, memoryview(data)[count:])


def open_regular(path: Path | str, *, dir_fd: int | None = None) -> int:
    """Open a regular file for reading; never follow a link, never block on a pipe."""
    fd = os.open(path, _READ, dir_fd=dir_fd)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "is not a regular file")
    return fd


def read_at_most(fd: int, limit: int) -> bytes:
    """Read the rest of an open file, at most `limit` bytes."""
    chunks: list[bytes] = []
    while limit > 0 and (chunk := os.read(fd, min(limit, _CHUNK_BYTES))):
        chunks.append(chunk)
        limit -= len(chunk)
    return b"".join(chunks)


def copy_at_most(source: int, target: int, limit: int) -> int:
    """Copy the rest of an open file, at most `limit` bytes; return the number of bytes."""
    count = 0
    while count < limit and (chunk := os.read(source, min(limit - count, _CHUNK_BYTES))):
        write_all(target, chunk)
        count += len(chunk)
    return count


def sha256_of(fd: int, limit: int) -> tuple[str, int]:
    """Hash the rest of an open file, at most `limit` bytes; return the digest and the number of bytes."""
    limited = _LimitedReader(fd, limit)
    return hashlib.file_digest(limited, "sha256").hexdigest(), limited.count


def read_regular(path: Path | str, limit: int) -> bytes:
    """Read a regular file, never through a link; raise `EFBIG` for more than `limit` bytes."""
    fd = open_regular(path)
    try:
        check_size(fd, limit)
        return read_at_most(fd, limit)
    finally:
        os.close(fd)


def sha256_of_path(path: Path | str, limit: int) -> str:
    """Hash a regular file, never through a link; raise `EFBIG` for more than `limit` bytes."""
    fd = open_regular(path)
    try:
        check_size(fd, limit)
        return sha256_of(fd, limit)[0]
    finally:
        os.close(fd)


def check_size(fd: int, limit: int) -> int:
    """Return the size of an open file; raise `EFBIG` for more than `limit` bytes."""
    size = os.fstat(fd).st_size
    if size > limit:
        raise OSError(errno.EFBIG, f"has {size} bytes, which is more than {limit}")
    return size


class _LimitedReader:
    """A file that ends after `limit` bytes even if it keeps growing, and counts the bytes read."""

    def __init__(self, fd: int, limit: int) -> None:
        self.fd = fd
        self.limit = limit
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:
        with memoryview(buffer) as view:
            count = os.readv(self.fd, [view[: self.limit - self.count]]) if self.count < self.limit else 0
        self.count += count
        return count


def sync_path(path: Path | str, *, dir_fd: int | None = None) -> None:
    """Make the bytes of a file, or the names in a directory, durable."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=dir_fd)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_tree(directory: Path) -> None:
    """Make every regular file and every name below a directory durable."""
    for parent, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(parent, name)
            if stat.S_ISREG(os.lstat(path).st_mode):
                sync_path(path)
        sync_path(parent)


def create_directories(path: Path, *, mode: int = PRIVATE_DIRECTORY) -> list[Path]:
    """Create a directory and its missing parents durably; return those created, outermost first."""
    created: list[Path] = []
    missing: list[Path] = []
    while not path.exists():
        missing.append(path)
        path = path.parent
    try:
        for directory in reversed(missing):
            directory.mkdir(mode=mode, exist_ok=True)
            created.append(directory)
            sync_path(directory.parent)
    except OSError:
        remove_empty_directories(created)
        raise
    return created


def mark_children_unrelated(directory: Path) -> None:
    """Tell the file system that the subdirectories of this directory are unrelated, where it supports that.

    Otherwise ext4 places them in one block group, where creating a file scans recently freed inodes.
    """
    if sys.platform != "linux":
        return
    with suppress(OSError):  # most file systems do not support it
        fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            (flags,) = struct.unpack("l", fcntl.ioctl(fd, _FS_IOC_GETFLAGS, struct.pack("l", 0)))
            fcntl.ioctl(fd, _FS_IOC_SETFLAGS, struct.pack("l", flags | _FS_TOPDIR_FLAG))
        finally:
            os.close(fd)


def remove_empty_directories(directories: list[Path]) -> None:
    """Remove the directories that are empty, the last in the list first."""
    for directory in reversed(directories):
        with suppress(OSError):
            directory.rmdir()


def remove_tree(path: Path | str, *, ignore_errors: bool = False) -> None:
    """Remove a path, including read-only directories, never the target of a link.

    With `ignore_errors`, remove as much as possible and raise nothing.
    """
    import shutil  # slow to import because of its archive formats

    try:
        if stat.S_ISDIR(os.lstat(path).st_mode):
            shutil.rmtree(path, onerror=_remove_unwritable)
        else:
            os.unlink(path)  # noqa: PTH108 - any kind of path
    except FileNotFoundError:
        return
    except (OSError, RecursionError):  # names that are too long, directories that cannot be opened
        if not ignore_errors:
            raise
        shutil.rmtree(path, ignore_errors=True)


def _remove_unwritable(_: object, path: str, failure: Any) -> None:
    """Make a read-only directory of this user writable, and retry its removal."""
    import shutil  # as above

    if isinstance(failure[1], FileNotFoundError):
        return
    for candidate in (os.path.dirname(path), path):  # noqa: PTH120 - as it came
        if stat.S_ISDIR(os.lstat(candidate).st_mode):
            os.chmod(candidate, PRIVATE_DIRECTORY)  # noqa: PTH101
    if stat.S_ISDIR(os.lstat(path).st_mode):
        shutil.rmtree(path)
    else:
        os.unlink(path)  # noqa: PTH108


def exchange_paths(first: Path | str, second: Path | str) -> bool:
    """Swap two paths atomically; return False, with nothing changed, where this is not supported."""
    rename = getattr(_libc(), "renameat2", None) if sys.platform == "linux" else None
    if rename is None:
        return False
    cwd, flags = _AT_FDCWD, _RENAME_EXCHANGE
    if rename(cwd, os.fsencode(first), cwd, os.fsencode(second), flags) == 0:
        return True
    number = ctypes.get_errno()
    if number in _EXCHANGE_UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(second))


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
