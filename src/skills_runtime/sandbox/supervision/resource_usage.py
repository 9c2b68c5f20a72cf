"""Limits that the kernel does not keep: memory and disk are looked at now and then, so that too much is short-lived.

Files without a name are found by the processes that have them open. Of memory each page is counted once, however it is
shared: the cheap numbers come first, which can only be too large; what is exact costs the kernel a walk through every
page. Pages of ordinary files do not count, for the kernel can drop them.
"""

import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from .process_tree import Process

IN_MEMORY = "/memfd:"

Key = tuple[int, int]
"""The number of a device, and that of a file on it."""


def nameless_on(path: str, processes: "Iterable[int]") -> "list[int]":
    """The blocks of each file without a name on the disk of a directory."""
    try:
        device = os.stat(path).st_dev  # noqa: PTH116 - nothing more is imported here
    except OSError:
        return []
    found = {(one.st_dev, one.st_ino): one.st_blocks for _, one in _files(processes) if not one.st_nlink}
    return [blocks for (where, _), blocks in found.items() if where == device]


def in_memory(processes: "Iterable[int]") -> "dict[Key, int]":
    """The blocks of each file that was made in memory alone."""
    return {(one.st_dev, one.st_ino): one.st_blocks for name, one in _files(processes) if name.startswith(IN_MEMORY)}


def _files(processes: "Iterable[int]") -> "Iterator[tuple[str, os.stat_result]]":
    """Every ordinary file without a name that one of the processes has open."""
    for process in processes:
        try:
            numbers = os.listdir(f"/proc/{process}/fd")  # noqa: PTH208 - nothing more is imported here
        except OSError:
            continue
        for number in numbers:
            place = f"/proc/{process}/fd/{number}"
            try:
                name = os.readlink(place)  # noqa: PTH115 - nothing more is imported here
                if name.endswith(" (deleted)") and stat.S_ISREG((found := os.stat(place)).st_mode):  # noqa: PTH116
                    yield name, found
            except OSError:
                continue


PAGE = os.sysconf("SC_PAGE_SIZE")
KIBIBYTE = 1024
COUNTED = (b"Pss_Anon", b"Pss_Shmem")


def uses_more_than(limit: int, processes: "Sequence[int]") -> bool:
    """Whether the processes use more than this together."""
    files = {key: blocks * BLOCK for key, blocks in in_memory(processes).items()}
    held = sum(files.values())
    if sum(_resident(process) for process in processes) + held <= limit:
        return False
    used = sum(map(_used, processes))
    if used > limit or used + held <= limit:
        return used > limit
    mapped: dict[Key, int] = {}
    for process in processes:
        _add_mapped(process, mapped)
    return used + sum(max(0, size - mapped.get(key, 0)) for key, size in files.items()) > limit


def _resident(process: int, *, with_files: bool = True) -> int:
    try:
        with open(f"/proc/{process}/statm", "rb") as file:
            _, resident, in_files, *_ = map(int, file.read().split())
    except OSError:
        return 0
    return (resident if with_files else resident - in_files) * PAGE


def _used(process: int) -> int:
    """What it has for itself, and its part of what it shares."""
    try:
        with open(f"/proc/{process}/smaps_rollup", "rb") as file:
            found = [int(line.split()[1]) for line in file if line.partition(b":")[0] in COUNTED]
    except OSError:
        found = []
    # One that does not let itself be looked into is counted by what everybody may know.
    return sum(found) * KIBIBYTE if found else _resident(process, with_files=False)


def _add_mapped(process: int, mapped: "dict[Key, int]") -> None:
    """The part of the process in each file that was made in memory alone."""
    key: Key | None = None
    try:
        with open(f"/proc/{process}/smaps", "rb") as file:
            for line in file:
                if b"-" in line.partition(b" ")[0]:
                    key = None
                    if IN_MEMORY.encode() in line:
                        device, number = line.split(None, 5)[3:5]
                        major, minor = device.split(b":")
                        key = os.makedev(int(major, 16), int(minor, 16)), int(number)
                elif key is not None and line.startswith(b"Pss:"):
                    mapped[key] = mapped.get(key, 0) + int(line.split()[1]) * KIBIBYTE
    except OSError:
        return


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
        found = None
        if self._disk is not None and self._disk.exceeded(processes):
            found = "disk"
        elif self._memory is not None and uses_more_than(self._memory, [one.pid for one in processes()]):
            found = "memory"
        now = time.monotonic()
        self._next = now + max(INTERVAL, LEISURE * (now - began))
        return found

    def exceeded_at_last(self) -> "str | None":
        """The limit that was exceeded without anybody having seen it, once nothing is left that could use more."""
        return "disk" if self._disk is not None and self._disk.exceeded(list) else None


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
            nameless = nameless_on(self._path, [one.pid for one in processes()])
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
