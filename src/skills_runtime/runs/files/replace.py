"""Puts a file in place whole or not at all."""

import errno
import itertools
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from skills_runtime.runs.files.content import digest_of, opened
from skills_runtime.runs.files.locate import Place
from skills_runtime.runs.layout import FILE_MODE
from skills_runtime.storage.files import write_all

_UNNAMED = os.O_WRONLY | os.O_CLOEXEC | getattr(os, "O_TMPFILE", os.O_DIRECTORY)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_ACCESS_BITS = 0o777
_MAX_TRIES = 1000
_numbers = itertools.count()


class _Previous(NamedTuple):
    found: os.stat_result
    sha256: str | None


def replace(place: Place, data: bytes, mode: int) -> str | None:
    """Put `data` in place of the regular file of that name, if any; returns the digest of what was there."""
    before = _look(place)
    draft = Draft(place.parent, FILE_MODE if before else mode)
    try:
        draft.fill(data, before.found if before else None)
        draft.put(place.name)
    finally:
        draft.drop()
    sync_directory(place.parent)
    return before.sha256 if before else None


class Draft:
    """New content beside its place; it has no name before it is put there, where the file system can do that.

    So whoever is killed while it is written leaves nothing behind.
    """

    def __init__(self, directory: int, mode: int) -> None:
        self._directory = directory
        self._name = ""
        try:
            self._fd = os.open(".", _UNNAMED, mode, dir_fd=directory)
        except OSError:  # it cannot, or nobody may: the other way tells which
            self._fd, self._name = create(directory, _names(), mode)

    @property
    def inode(self) -> int:
        """By which it is known under any name."""
        return os.fstat(self._fd).st_ino

    def fill(self, data: bytes, like: os.stat_result | None = None) -> None:
        """Write it, with the access that another file has, and return when it is on the disk."""
        write_all(self._fd, data)
        if like is not None:
            _keep_access(self._fd, like)
        os.fsync(self._fd)

    def put(self, name: str) -> None:
        """Put it in place of whatever has that name."""
        if not self._name:
            self._name = self._linked()
        os.rename(self._name, name, src_dir_fd=self._directory, dst_dir_fd=self._directory)

    def drop(self) -> None:
        """Let go of it; what was not put in place is gone."""
        os.close(self._fd)
        if self._name:
            remove(self._directory, self._name)

    def _linked(self) -> str:
        for name in itertools.islice(_names(), _MAX_TRIES):
            with suppress(FileExistsError):
                os.link(f"/proc/self/fd/{self._fd}", name, dst_dir_fd=self._directory, follow_symlinks=True)
                return name
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))


def _names() -> Iterator[str]:
    return (f".skills-runtime-{os.getpid()}-{number}.tmp" for number in _numbers)


def create(directory: int, names: Iterable[str], mode: int) -> tuple[int, str]:
    """Make a new file under the first name that is free, open for writing."""
    for name in itertools.islice(names, _MAX_TRIES):
        with suppress(FileExistsError):
            return os.open(name, _NEW, mode, dir_fd=directory), name
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))


def remove(directory: int, name: str) -> None:
    """Take away a file of our own after a failure, which is what will be reported."""
    with suppress(OSError):
        os.unlink(name, dir_fd=directory)


def sync_directory(directory: int) -> None:
    """Make a change of names durable, where the directory may be opened at all."""
    try:
        fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=directory)
    except PermissionError:
        return
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _look(place: Place) -> _Previous | None:
    """What is there now; opened for writing, so that a file made read-only is not replaced."""
    try:
        with opened(place, os.O_RDWR) as fd:
            return _Previous(os.fstat(fd), digest_of(fd))
    except FileNotFoundError:
        return None


def _keep_access(fd: int, found: os.stat_result) -> None:
    own = os.fstat(fd)
    if (own.st_uid, own.st_gid) != (found.st_uid, found.st_gid):
        with suppress(PermissionError):
            os.fchown(fd, found.st_uid, found.st_gid)
    os.fchmod(fd, found.st_mode & _ACCESS_BITS)
