"""How much memory processes use together, each page of it counted once, however they share it.

The cheap numbers come first: they can only be too large. What is exact costs the kernel a walk through every page.
Pages of ordinary files do not count, for the kernel can drop them.
"""

import os
from collections.abc import Sequence

from . import opened

PAGE = os.sysconf("SC_PAGE_SIZE")
BLOCK, KIBIBYTE = 512, 1024
COUNTED = (b"Pss_Anon", b"Pss_Shmem")


def uses_more_than(limit: int, processes: "Sequence[int]") -> bool:
    """Whether the processes use more than this together."""
    files = {key: blocks * BLOCK for key, blocks in opened.in_memory(processes).items()}
    held = sum(files.values())
    if sum(_resident(process) for process in processes) + held <= limit:
        return False
    used = sum(map(_used, processes))
    if used > limit or used + held <= limit:
        return used > limit
    mapped: dict[opened.Key, int] = {}
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


def _add_mapped(process: int, mapped: "dict[opened.Key, int]") -> None:
    """The part of the process in each file that was made in memory alone."""
    key: opened.Key | None = None
    try:
        with open(f"/proc/{process}/smaps", "rb") as file:
            for line in file:
                if b"-" in line.partition(b" ")[0]:
                    key = _file(line) if opened.IN_MEMORY.encode() in line else None
                elif key is not None and line.startswith(b"Pss:"):
                    mapped[key] = mapped.get(key, 0) + int(line.split()[1]) * KIBIBYTE
    except OSError:
        return


def _file(line: bytes) -> "opened.Key":
    device, number = line.split(None, 5)[3:5]
    major, minor = device.split(b":")
    return os.makedev(int(major, 16), int(minor, 16)), int(number)
