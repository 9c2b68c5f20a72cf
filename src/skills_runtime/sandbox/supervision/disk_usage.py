"""Measure the disk use of one command while it runs, and remove the excess after it has ended.

Free space of the disk triggers an exact measurement; only what is new in the directory counts. Unlinked files are
found through the processes that have them open. Removed is only what was both created and last written after the
limit was exceeded: a file that existed before keeps its inode, or got its name by a rename, and both are
detectable.
"""

import ctypes
import os
import stat
import struct
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from .process_tree import Process

INTERVAL = 0.005
"""Seconds between two measurements while the disk fills up."""
IDLE_INTERVAL = 0.05
"""Seconds between two measurements when nothing was written for a while."""
BLOCK = 512
TICK_NS = 20_000_000
"""File times may lag behind the clock by this much."""
# Other programs' writes also reduce free space: measure exactly after each such fraction of the limit.
WALKS = 16
# Each level of nesting needs a descriptor during removal.
MAX_DEPTH = 100
MAX_NAMED = 20
"""Removed files that are named in a result."""
MAX_NAME = 200
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
AT_FDCWD = -100
AT_SYMLINK_NOFOLLOW = 0x100
STATX_BTIME = 0x800
STATX_SIZE = 256
BIRTH_OFFSET = 80

_statx: Any = getattr(ctypes.CDLL(None), "statx", None)

Processes = Callable[[], Iterable[Process]]


def nameless_files(processes: "Iterable[int]") -> "Iterator[tuple[str, os.stat_result]]":
    """Return every unlinked regular file that one of the processes has open."""
    for process in processes:
        try:
            numbers = os.listdir(f"/proc/{process}/fd")  # noqa: PTH208 - nothing more is imported here
        except OSError:
            continue
        for number in numbers:
            path = f"/proc/{process}/fd/{number}"
            try:
                name = os.readlink(path)  # noqa: PTH115 - nothing more is imported here
                if name.endswith(" (deleted)") and stat.S_ISREG((info := os.stat(path)).st_mode):  # noqa: PTH116
                    yield name, info
            except OSError:
                continue


def nameless_blocks_on(path: str, processes: "Iterable[int]") -> "list[int]":
    """Return the blocks of each unlinked file on the disk of a directory."""
    try:
        device = os.stat(path).st_dev  # noqa: PTH116 - nothing more is imported here
    except OSError:
        return []
    blocks_by_file = {
        (info.st_dev, info.st_ino): info.st_blocks for _, info in nameless_files(processes) if not info.st_nlink
    }
    return [blocks for (file_device, _), blocks in blocks_by_file.items() if file_device == device]


class DiskUsage:
    """What a command writes to a directory, and its limits."""

    def __init__(self, limits: "Mapping[str, Any]") -> None:
        self._path: str = limits["disk_path"]
        self._bytes: int = limits["disk_bytes"]
        self._files: int = limits["disk_files"]
        self._excluded = frozenset[str](limits["disk_excluded"])
        self._free_space = (0, 0)
        self._first_bytes, self._first_files = self._last = self._free()
        self._certain = self._next_walk = (self._first_bytes - self._bytes, self._first_files - self._files)
        """Free space down to which no limit can be exceeded, and below which to measure exactly."""
        self._began = self._last_within_limit = time.clock_gettime_ns(time.CLOCK_REALTIME)
        self._has_exceeded = False
        self.interval = INTERVAL
        """Seconds until the next measurement."""

    def is_exceeded(self, processes: Processes, *, at_last: bool = False) -> bool:
        """Return whether the command exceeds its limit now; with `at_last` the check is exact and may be slow."""
        measured_at = time.clock_gettime_ns(time.CLOCK_REALTIME)
        free = self._free()
        self.interval = INTERVAL if _is_less(free, self._last) else min(2 * self.interval, IDLE_INTERVAL)
        self._last = free
        if _is_less(free, self._certain if at_last else self._next_walk):
            size, count = self._measure_usage(processes, free)
            if size > self._bytes or count > self._files:
                self._has_exceeded = True
                return True
            # Another program has written too: measure again when the command could exceed its limit, but not
            # constantly.
            left_bytes, left_files = self._bytes - size, self._files - count
            self._certain = (free[0] - left_bytes, free[1] - left_files)
            self._next_walk = (
                free[0] - max(left_bytes, self._bytes // WALKS),
                free[1] - max(left_files, self._files // WALKS),
            )
        if not _is_less(free, self._certain):
            self._last_within_limit = measured_at
        return False

    def remove_excess(self) -> "dict[str, Any] | None":
        """Remove what was written since the limit was exceeded until the rest is within it; report what was removed."""
        free = self._free()
        gone_bytes, gone_files = self._first_bytes - free[0], self._first_files - free[1]
        if not self._has_exceeded and gone_bytes <= self._bytes and gone_files <= self._files:
            return None
        size, count = self._measure_usage(list, free)
        # Touched files count as used, too: the excess is at most what is new or missing.
        new_bytes, new_files, _ = _measure_changes(self._path, self._began - TICK_NS, self._excluded, born=self._began)
        size, count = min(size, max(gone_bytes, new_bytes)), min(count, max(gone_files, new_files))
        if size <= self._bytes and count <= self._files:
            return None
        removal = _Removal(self._path, self._excluded, began=self._began, since=self._last_within_limit - TICK_NS)
        return removal.run(size - self._bytes, count - self._files)

    def _measure_usage(self, processes: Processes, free: "tuple[int, int]") -> "tuple[int, int]":
        size, count, unseen = _measure_changes(self._path, self._began - TICK_NS, self._excluded)
        if unseen:  # unreadable content is assumed to be all that is missing
            size, count = max(size, self._first_bytes - free[0]), max(count, self._first_files - free[1])
        if size <= self._bytes and count <= self._files:
            nameless = nameless_blocks_on(self._path, [process.pid for process in processes()])
            size, count = size + sum(nameless) * BLOCK, count + len(nameless)
        return size, count

    def _free(self) -> "tuple[int, int]":
        # A command may remove the directory; the file system is the same.
        with suppress(OSError):
            status = os.statvfs(self._path)
            self._free_space = (status.f_bfree * status.f_frsize, status.f_ffree)
        return self._free_space


def _is_less(free: "tuple[int, int]", than: "tuple[int, int]") -> bool:
    return free[0] < than[0] or free[1] < than[1]


def _measure_changes(path: str, since: int, excluded: "Container[str]", *, born: int = 0) -> "tuple[int, int, bool]":
    """Return bytes and number of changes below a directory since a time, and whether some are unreadable.

    With `born`, count only what was created since then.
    """
    size = count = 0
    unseen = False
    pending = [(path, False)]
    while pending:
        location, new = pending.pop()
        try:
            with os.scandir(location) as entries:
                for entry in entries:
                    if entry.path in excluded:
                        continue
                    try:
                        info = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:  # removed meanwhile
                        continue
                    fresh = info.st_ctime_ns >= since
                    if fresh and (not born or _birth_time(AT_FDCWD, entry.path) >= born):
                        size += info.st_blocks * BLOCK
                        count += 1
                    if entry.is_dir(follow_symlinks=False):
                        pending.append((entry.path, fresh))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except PermissionError:
            unseen = unseen or new
        except OSError:  # nested so deep that its path is too long
            unseen = True
    return size, count, unseen


class _Removal:
    # Never follows links: other commands may work in the same directory.

    def __init__(self, path: str, excluded: "Container[str]", *, began: int, since: int) -> None:
        self._path = path
        self._excluded = excluded
        self._began = began
        self._since = since
        self._size = self._count = 0
        self._bytes = self._files = 0
        self._paths: list[str] = []

    def run(self, size: int, count: int) -> "dict[str, Any]":
        """Remove this many bytes and files; return what was removed, and what had to be left."""
        self._size, self._count = size, count
        with suppress(OSError):
            root = os.open(self._path, DIRECTORY)
            try:
                self._walk(root, "", os.fstat(root).st_dev, new=False, depth=0)
            finally:
                os.close(root)
        remaining = {"left_bytes": max(0, self._size), "left_files": max(0, self._count)}
        return {"files": self._files, "bytes": self._bytes, "paths": self._paths, **remaining}

    def _walk(self, directory: int, path: str, device: int, *, new: bool, depth: int) -> None:
        for name in os.listdir(directory):
            if self._size <= 0 and self._count <= 0:
                return
            if f"{self._path}/{path}{name}" in self._excluded:
                continue
            with suppress(OSError):
                info = os.stat(name, dir_fd=directory, follow_symlinks=False)
                if not stat.S_ISDIR(info.st_mode):
                    self._remove_if_excess(directory, path, name, info, new=new)
                elif info.st_dev == device and depth < MAX_DEPTH:
                    self._enter(directory, path, name, device, depth)

    def _enter(self, directory: int, path: str, name: str, device: int, depth: int) -> None:
        born = _birth_time(directory, name)
        inner = os.open(name, DIRECTORY, dir_fd=directory)
        try:
            self._walk(inner, f"{path}{name}/", device, new=born >= self._began, depth=depth + 1)
        finally:
            os.close(inner)
        if born >= max(self._began, self._since) and (self._size > 0 or self._count > 0):
            os.rmdir(name, dir_fd=directory)  # succeeds only for an empty directory
            self._count -= 1

    def _remove_if_excess(self, directory: int, path: str, name: str, info: os.stat_result, *, new: bool) -> None:
        """Remove a file that was written beyond the limit."""
        made_here = new or info.st_ctime_ns == info.st_mtime_ns
        if info.st_ctime_ns < self._since or not made_here or _birth_time(directory, name) < self._began:
            return
        os.unlink(name, dir_fd=directory)
        # Its inode is younger than the command. In an older directory it must have been created under its own name: a
        # rename, which may have replaced something, changes the inode later than the content.
        freed = info.st_blocks * BLOCK if info.st_nlink == 1 else 0
        self._size -= freed
        self._count -= 1
        self._bytes += freed
        self._files += 1
        if len(self._paths) < MAX_NAMED:
            self._paths.append(os.fsencode(path + name).decode(errors="backslashreplace")[:MAX_NAME])


def _birth_time(directory: int, name: str) -> int:
    """Return the birth time in nanoseconds; 0 where the file system does not record it."""
    buffer = ctypes.create_string_buffer(STATX_SIZE)
    if _statx is None or _statx(directory, os.fsencode(name), AT_SYMLINK_NOFOLLOW, STATX_BTIME, buffer) != 0:
        return 0
    mask: int = struct.unpack_from("=I", buffer)[0]
    seconds, nanoseconds = struct.unpack_from("=qI", buffer, BIRTH_OFFSET)
    return seconds * 1_000_000_000 + nanoseconds if mask & STATX_BTIME else 0
