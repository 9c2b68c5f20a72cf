"""Poll the limits that the kernel does not enforce: memory and disk.

Each page is counted once, however it is shared: cheap numbers, which can only be too large, are read first; exact
ones make the kernel walk through every page. Pages of ordinary files do not count, since the kernel can drop them;
socket buffers do.
"""

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Any

from .disk_usage import BLOCK, DiskUsage, Processes, nameless_files
from .socket_usage import estimate_socket_bytes, measure_socket_bytes

IN_MEMORY = "/memfd:"

Key = tuple[int, int]
"""Device and inode number."""


def memory_file_blocks(processes: "Iterable[int]") -> "dict[Key, int]":
    """Return the blocks of each file that exists only in memory."""
    return {
        (info.st_dev, info.st_ino): info.st_blocks
        for name, info in nameless_files(processes)
        if name.startswith(IN_MEMORY)
    }


PAGE = os.sysconf("SC_PAGE_SIZE")
KIBIBYTE = 1024
COUNTED = (b"Pss_Anon", b"Pss_Shmem")


def uses_more_than(limit: int, processes: "Sequence[int]") -> bool:
    """Return whether the processes together use more than this."""
    files = {key: blocks * BLOCK for key, blocks in memory_file_blocks(processes).items()}
    file_bytes = sum(files.values())
    at_most = sum(_resident(process) for process in processes) + file_bytes
    if at_most + estimate_socket_bytes(processes) <= limit:
        return False
    limit -= measure_socket_bytes(processes)
    if at_most <= limit:
        return False
    memory = sum(map(_memory_bytes, processes))
    if memory > limit or memory + file_bytes <= limit:
        return memory > limit
    mapped: dict[Key, int] = {}
    for process in processes:
        _add_mapped(process, mapped)
    return memory + sum(max(0, size - mapped.get(key, 0)) for key, size in files.items()) > limit


def _resident(process: int, *, with_files: bool = True) -> int:
    try:
        with open(f"/proc/{process}/statm", "rb") as file:
            _, resident, in_files, *_ = map(int, file.read().split())
    except OSError:
        return 0
    return (resident if with_files else resident - in_files) * PAGE


def _memory_bytes(process: int) -> int:
    """Return the private memory of a process and its share of shared memory."""
    try:
        with open(f"/proc/{process}/smaps_rollup", "rb") as file:
            sizes = [int(line.split()[1]) for line in file if line.partition(b":")[0] in COUNTED]
    except OSError:
        sizes = []
    # A process that cannot be inspected is counted by its public numbers.
    return sum(sizes) * KIBIBYTE if sizes else _resident(process, with_files=False)


def _add_mapped(process: int, mapped: "dict[Key, int]") -> None:
    """Add the process's share of each file that exists only in memory."""
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
# Bounds the CPU cost: wait this many times the duration of a measurement before the next.
BACKOFF_FACTOR = 10


class LimitWatch:
    """Polls the limits of one command until nothing of it is left."""

    def __init__(self, limits: "Mapping[str, Any] | None") -> None:
        self._memory: int | None = limits["memory_bytes"] if limits else None
        self._disk = DiskUsage(limits) if limits and limits["disk_path"] else None
        began = time.monotonic()
        self._next_memory = began + INTERVAL if self._memory else inf
        self._next_disk = began if self._disk else inf

    def find_exceeded_limit(self, processes: Processes) -> "str | None":
        """Return the exceeded limit, if any, when it is time to measure again."""
        began = time.monotonic()
        if self._disk is not None and began >= self._next_disk:
            if self._disk.is_exceeded(processes):
                return "disk"
            now = time.monotonic()
            self._next_disk = now + max(self._disk.interval, BACKOFF_FACTOR * (now - began))
            began = now
        if self._memory is not None and began >= self._next_memory:
            if uses_more_than(self._memory, [process.pid for process in processes()]):
                return "memory"
            now = time.monotonic()
            self._next_memory = now + max(INTERVAL, BACKOFF_FACTOR * (now - began))
        return None

    def wait_ms(self) -> "float | None":
        """Return the milliseconds until the next measurement; None when there is nothing to measure."""
        following = min(self._next_disk, self._next_memory)
        return None if following == inf else max(0.0, following - time.monotonic()) * 1000

    def find_exceeded_at_end(self) -> "str | None":
        """Return the limit that was exceeded between measurements, once every process has ended."""
        return "disk" if self._disk is not None and self._disk.is_exceeded(list, at_last=True) else None

    def remove_excess(self) -> "dict[str, Any] | None":
        """Remove what a finished command wrote beyond its limit; None if it stayed within it."""
        return self._disk.remove_excess() if self._disk is not None else None
