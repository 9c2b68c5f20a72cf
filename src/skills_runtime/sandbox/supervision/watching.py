"""Limits that the kernel does not keep: looked at now and then, so that going beyond them is short-lived."""

import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from . import memory, opened
from .tree import Process

INTERVAL = 0.05
LEISURE = 10
"""How many times as long as a look took nobody looks again: it must not be what uses the processor."""
BLOCK = 512
TICK_NS = 20_000_000
"""How far the times of files may lag behind the clock."""

Processes = Callable[[], Iterable[Process]]


class Watching:
    """The limits of one command under way."""

    def __init__(self, wanted: "Mapping[str, Any] | None") -> None:
        self._memory: int | None = wanted["memory_bytes"] if wanted else None
        self._disk = _Disk(wanted) if wanted and wanted["disk_path"] else None
        self.active = bool(self._memory or self._disk)
        self._next = time.monotonic() + INTERVAL

    def exceeded(self, processes: Processes) -> "str | None":
        """The limit that is exceeded now, if one is and it is time to look again."""
        began = time.monotonic()
        if not self.active or began < self._next:
            return None
        found = self._found(processes)
        now = time.monotonic()
        self._next = now + max(INTERVAL, LEISURE * (now - began))
        return found

    def exceeded_at_last(self) -> "str | None":
        """The limit that was exceeded without anybody having seen it, once nothing is left that could use more."""
        return "disk" if self._disk is not None and self._disk.exceeded(list) else None

    def _found(self, processes: Processes) -> "str | None":
        if self._disk is not None and self._disk.exceeded(processes):
            return "disk"
        if self._memory is not None and memory.uses_more_than(self._memory, [one.pid for one in processes()]):
            return "memory"
        return None


class _Disk:
    """The room on a disk tells when to look closer; only what is new in the directory counts."""

    def __init__(self, wanted: "Mapping[str, Any]") -> None:
        self._path: str = wanted["disk_path"]
        self._bytes: int = wanted["disk_bytes"]
        self._files: int = wanted["disk_files"]
        self._room = (0, 0)
        self._free_bytes, self._free_files = self._first_bytes, self._first_files = self._free()
        self._began = time.clock_gettime_ns(time.CLOCK_REALTIME) - TICK_NS

    def exceeded(self, processes: Processes) -> bool:
        free_bytes, free_files = self._free()
        if self._free_bytes - free_bytes <= self._bytes and self._free_files - free_files <= self._files:
            return False
        if self._uses_more(processes, self._first_bytes - free_bytes, self._first_files - free_files):
            return True
        # Somebody else has written: look again when a good part more is gone.
        self._free_bytes, self._free_files = free_bytes + self._bytes // 2, free_files + self._files // 2
        return False

    def _uses_more(self, processes: Processes, gone_bytes: int, gone_files: int) -> bool:
        size, count, unseen = _changed(self._path, self._began)
        if unseen:  # what a command hides from everybody is taken to be all that is gone
            size, count = max(size, gone_bytes), max(count, gone_files)
        if size <= self._bytes and count <= self._files:
            nameless = opened.nameless_on(self._path, [one.pid for one in processes()])
            size, count = size + sum(nameless) * BLOCK, count + len(nameless)
        return size > self._bytes or count > self._files

    def _free(self) -> "tuple[int, int]":
        with suppress(OSError):  # a command may take the directory away: the disk is still the same
            found = os.statvfs(self._path)
            self._room = (found.f_bfree * found.f_frsize, found.f_ffree)
        return self._room


def _changed(path: str, since: int) -> "tuple[int, int, bool]":
    """Bytes and number of what was made or changed below a directory, and whether some of it cannot be seen."""
    size = count = 0
    unseen = False
    pending = [(path, False)]
    while pending:
        place, new = pending.pop()
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    found = entry.stat(follow_symlinks=False)
                    fresh = found.st_ctime_ns >= since
                    if fresh:
                        size += found.st_blocks * BLOCK
                        count += 1
                    if entry.is_dir(follow_symlinks=False):
                        pending.append((entry.path, fresh))
        except PermissionError:
            unseen = unseen or new
        except OSError:
            continue
    return size, count, unseen
