"""Open files component by component below a directory, so that no link, `..` or race leads out of it.

System errors are raised unchanged; a link anywhere in the path is `ELOOP`. `beneath` follows links that stay below.
"""

import errno
import heapq
import os
import stat
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from skills_runtime.storage.beneath import open_root
from skills_runtime.storage.files import open_regular, read_at_most

OPEN_TO_TRAVERSE = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Opens a directory only for further lookups."""
OPEN_TO_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Opens a directory to list it."""

_CHUNK_BYTES = 1 << 20
_NO_ACCESS_TIME = getattr(os, "O_NOATIME", 0)

Parts = tuple[str, ...]


class Entry(NamedTuple):
    """One entry of a walk."""

    parts: Parts
    directory: int
    """The open directory that contains it, until the walk continues."""
    status: os.stat_result

    @property
    def name(self) -> str:
        """Return its name."""
        return self.parts[-1]

    @property
    def path(self) -> str:
        """Return its path from the top of the walk."""
        return "/".join(self.parts)

    @property
    def is_directory(self) -> bool:
        """Return whether it is a real directory."""
        return stat.S_ISDIR(self.status.st_mode)

    @property
    def is_file(self) -> bool:
        """Return whether it is a regular file."""
        return stat.S_ISREG(self.status.st_mode)

    @property
    def is_link(self) -> bool:
        """Return whether it is a symbolic link."""
        return stat.S_ISLNK(self.status.st_mode)

    def read(self, limit: int) -> bytes:
        """Read at most `limit` bytes of a regular file."""
        return read_below(self.directory, (self.name,), limit=limit)

    def target(self) -> str:
        """Return the target of a link."""
        return os.readlink(self.name, dir_fd=self.directory)


def relative_parts(path: str) -> Parts | None:
    """Split a relative path that stays below its start into names; return None for any other path."""
    parts = tuple(path.split("/"))
    legal = all(part not in ("", ".", "..") and "\0" not in part for part in parts)
    return parts if legal else None


@contextmanager
def open_directory(path: Path) -> Generator[int]:
    """Open a real directory; no component of its path may be a link."""
    fd = open_root(path.absolute())
    try:
        yield fd
    finally:
        os.close(fd)


def open_below(directory: int, parts: Sequence[str], flags: int) -> int:
    """Open a path below an open directory."""
    if not parts:
        return os.open(".", flags, dir_fd=directory)
    current = directory
    for depth, name in enumerate(parts, start=1):
        try:
            inner = _open_name(current, name, flags if depth == len(parts) else OPEN_TO_TRAVERSE)
        finally:
            if current != directory:
                os.close(current)
        current = inner
    return current


def open_regular_below(directory: int, parts: Sequence[str]) -> int:
    """Open a regular file below an open directory for reading."""
    *parents, name = parts
    parent_fd = open_below(directory, parents, OPEN_TO_TRAVERSE) if parents else directory
    try:
        return open_regular(name, dir_fd=parent_fd)
    finally:
        if parent_fd != directory:
            os.close(parent_fd)


def read_below(directory: int, parts: Sequence[str], *, limit: int) -> bytes:
    """Read at most `limit` bytes of a regular file."""
    file = open_regular_below(directory, parts)
    try:
        size = os.fstat(file).st_size
        first = os.read(file, min(limit, _CHUNK_BYTES)) if limit > 0 else b""
        if len(first) == size < min(limit, _CHUNK_BYTES) or not first:
            # It has the reported size: no second read is needed to find the end of nearly every file.
            return first
        return first + read_at_most(file, limit - len(first))
    finally:
        os.close(file)


def stat_mode_below(directory: int, parts: Sequence[str]) -> int:
    """Return the mode of a path below an open directory."""
    *parents, name = parts
    parent_fd = open_below(directory, parents, OPEN_TO_TRAVERSE)
    try:
        mode = os.stat(name, dir_fd=parent_fd, follow_symlinks=False).st_mode
    finally:
        os.close(parent_fd)
    if stat.S_ISLNK(mode):
        raise _link_error(name)
    return mode


def walk(
    top: int,
    *,
    limit: int | None = None,
    enter: Callable[[Entry], bool] = lambda _: True,
    on_error: Callable[[Parts, OSError], None] | None = None,
) -> Generator[Entry]:
    """Yield everything below an open directory, nearest first and by name; links are reported, not followed.

    At most `limit` entries are yielded; request n + 1 to detect more than n. `enter` selects the directories to
    enter. Errors are passed to `on_error`, or raised without one.
    """
    waiting: deque[Parts] = deque([()])
    while waiting and (limit is None or limit > 0):
        parts = waiting.popleft()
        try:
            directory = _open_to_list(top, parts)
        except OSError as error:
            if on_error is None:
                raise
            on_error(parts, error)
            continue
        try:
            for name in list_names(directory, limit):
                entry = _stat_entry(directory, (*parts, name), on_error)
                if entry is None:
                    continue
                if limit is not None:
                    if limit <= 0:
                        return
                    limit -= 1
                if entry.is_directory and enter(entry):
                    waiting.append(entry.parts)
                yield entry
        finally:
            os.close(directory)


def list_names(directory: int, count: int | None) -> list[str]:
    """Return the first `count` names of an open directory in byte order, holding no more than that in memory."""
    with os.scandir(directory) as entries:
        first = next(entries, None)
        if first is None:
            return []
        names = (entry.name for entry in chain((first,), entries))
        return sorted(names, key=os.fsencode) if count is None else heapq.nsmallest(count, names, key=os.fsencode)


def disk_usage(directory: Path | str, count: Callable[[], bool]) -> tuple[int, int, bool]:
    """Return the disk usage and number of files below a directory, and whether everything was counted.

    `count` is called for every name and returns whether to continue. Unreadable and vanished entries are skipped.
    """
    size, files, waiting = 0, 0, [os.fspath(directory)]
    while waiting:
        try:
            entries = os.scandir(waiting.pop())
        except OSError:
            continue
        with entries:
            for entry in entries:
                if not count():
                    return size, files, False
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                if stat.S_ISDIR(status.st_mode):
                    waiting.append(entry.path)
                else:
                    files += 1
                    size += status.st_blocks * 512
    return size, files, True


def error_reason(error: OSError) -> str:
    """Return why something could not be opened, as the end of a sentence."""
    if error.errno == errno.ELOOP:
        return "a link is on the way to it, and links are not followed"
    return (error.strerror or "it cannot be read").lower()


def _stat_entry(directory: int, parts: Parts, on_error: Callable[[Parts, OSError], None] | None) -> Entry | None:
    try:
        return Entry(parts, directory, os.stat(parts[-1], dir_fd=directory, follow_symlinks=False))
    except OSError as error:
        if on_error is None:
            raise
        on_error(parts, error)
        return None


def _open_to_list(top: int, parts: Parts) -> int:
    """Open a directory to list it without updating its access time, which could wait for the disk."""
    try:
        return open_below(top, parts, OPEN_TO_LIST | _NO_ACCESS_TIME)
    except PermissionError:  # only the owner may set O_NOATIME
        return open_below(top, parts, OPEN_TO_LIST)


def _open_name(directory: int, name: str, flags: int) -> int:
    try:
        return os.open(name, flags, dir_fd=directory)
    except NotADirectoryError:
        if stat.S_ISLNK(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
            raise _link_error(name) from None
        raise


def _link_error(name: str) -> OSError:
    return OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
