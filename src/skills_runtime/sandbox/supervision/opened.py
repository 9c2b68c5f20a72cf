"""Files that processes have open: the only trace of those that have lost their name."""

import os
import stat
from collections.abc import Iterable, Iterator

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
