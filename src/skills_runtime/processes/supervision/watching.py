"""Limits that the kernel does not keep: looked at now and then, so that going beyond them is short-lived."""

import os
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .tree import Process

INTERVAL = 0.05
PAGE = os.sysconf("SC_PAGE_SIZE")
BLOCK = 512
TICK_NS = 20_000_000
"""How far the times of files may lag behind the clock."""


class Watching:
    """The limits of one command under way."""

    def __init__(self, wanted: "Mapping[str, Any] | None") -> None:
        self._memory: int | None = wanted["memory_bytes"] if wanted else None
        self._disk = _Disk(wanted) if wanted and wanted["disk_path"] else None
        self.active = bool(self._memory or self._disk)
        self._next = time.monotonic() + INTERVAL

    def exceeded(self, processes: Callable[[], Iterable[Process]]) -> "str | None":
        """The limit that is exceeded now, if one is and it is time to look again."""
        if not self.active or time.monotonic() < self._next:
            return None
        self._next = time.monotonic() + INTERVAL
        if self._disk is not None and self._disk.exceeded():
            return "disk"
        if self._memory is not None and sum(map(_resident, processes())) > self._memory:
            return "memory"
        return None


def _resident(process: Process) -> int:
    """The memory of a process that is not a file's; what several share is counted for each."""
    try:
        with open(f"/proc/{process.pid}/statm", encoding="ascii") as file:
            _, resident, shared, *_ = file.read().split()
    except OSError:
        return 0
    return (int(resident) - int(shared)) * PAGE


class _Disk:
    """The room on a disk tells when to look closer; only what is new in the directory counts."""

    def __init__(self, wanted: "Mapping[str, Any]") -> None:
        self._path: str = wanted["disk_path"]
        self._bytes: int = wanted["disk_bytes"]
        self._files: int = wanted["disk_files"]
        self._free_bytes, self._free_files = self._free()
        self._began = time.clock_gettime_ns(time.CLOCK_REALTIME) - TICK_NS

    def exceeded(self) -> bool:
        free_bytes, free_files = self._free()
        if self._free_bytes - free_bytes <= self._bytes and self._free_files - free_files <= self._files:
            return False
        size, count = _changed(self._path, self._began)
        if size > self._bytes or count > self._files:
            return True
        # Somebody else has written: look again when a good part more is gone.
        self._free_bytes, self._free_files = free_bytes + self._bytes // 2, free_files + self._files // 2
        return False

    def _free(self) -> "tuple[int, int]":
        found = os.statvfs(self._path)
        return found.f_bfree * found.f_frsize, found.f_ffree


def _changed(path: str, since: int) -> "tuple[int, int]":
    """Bytes and number of what was made or changed below a directory."""
    size = count = 0
    pending = [path]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    found = entry.stat(follow_symlinks=False)
                    if found.st_ctime_ns >= since:
                        size += found.st_blocks * BLOCK
                        count += 1
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
        except OSError:
            continue
    return size, count
