"""Control groups of a supervisor: it stays in them from one command to the next, for to move costs more than to stay.

Whatever it starts is born into them. It is small, and the kernel is told to take others first when memory runs out.
"""

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from .process_tree import look

PREFIX = "skills-runtime-"
ATTEMPTS = 100
PAUSE = 0.005
OPTIONAL = ("memory.swappiness", "memory.swap.max")
"""Settings that not every kernel has, and without which the others still hold."""
SACRIFICED = b"500"
SPARED = b"0"
MOST = 1 << 16
"""Bytes of what the kernel counts."""
RESET = "memory.max_usage_in_bytes"
"""A counter that is set back for each command."""

Wanted = Sequence[Mapping[str, Any]]


class Groups:
    """The groups of one supervisor."""

    def __init__(self) -> None:
        # A number alone could belong to a process of another container that sees the same groups.
        self._name = f"{PREFIX}{os.getpid()}-{time.monotonic_ns():x}"
        self._wanted: Wanted = ()
        self._before: dict[str, int] = {}
        self._files: dict[tuple[str, int], int] = {}
        """Files of the kernel that are read or written for every command, open: to open one costs most of it."""

    def includes(self, wanted: Wanted) -> bool:
        """Whether this process is where these groups are already."""
        return [group["parent"] for group in wanted] == [group["parent"] for group in self._wanted]

    def enter(self, wanted: Wanted) -> None:
        """Be where the next command has to be born, with the limits it has to have."""
        if not self.includes(wanted):
            self.close()
            self._make(wanted)
        else:
            for group, now in zip(wanted, self._wanted, strict=True):
                if group["settings"] != now["settings"]:
                    _configure(self._directory(group), group)
        self._wanted = wanted
        if wanted:
            with suppress(OSError):
                os.pwrite(self._file(f"{self._directory(wanted[0])}/{RESET}", os.O_WRONLY), b"0", 0)
            self._before = self._counters()
            self._prefer(SACRIFICED)

    def spare(self) -> None:
        """Go back to being nobody's first choice, once the command is there instead."""
        if self._wanted:
            self._prefer(SPARED)

    def counted(self) -> "dict[str, int]":
        """What the kernel counted since the command was begun."""
        now = self._counters()
        return {
            name: value if name == "memory_peak" else value - self._before.get(name, 0) for name, value in now.items()
        }

    def close(self) -> None:
        """Go back to where this process came from, and remove the groups."""
        for descriptor in self._files.values():
            os.close(descriptor)
        self._files = {}
        for group in self._wanted:
            with suppress(OSError):
                _write(f"{group['home']}/cgroup.procs", "0")
            _remove(self._directory(group))
        self._wanted = ()

    def _make(self, wanted: Wanted) -> None:
        for group in wanted:
            _sweep(group["parent"])
            os.mkdir(self._directory(group))  # noqa: PTH102 - nothing is imported here that is not needed
            self._wanted = (*self._wanted, group)
            _configure(self._directory(group), group)
        for group in wanted:
            _write(f"{self._directory(group)}/cgroup.procs", "0")

    def _directory(self, group: Mapping[str, Any]) -> str:
        return f"{group['parent']}/{self._name}"

    def _counters(self) -> "dict[str, int]":
        found: dict[str, int] = {}
        for group in self._wanted:
            for name in group["counters"]:
                found |= _counts(name, self._read(f"{self._directory(group)}/{name}"))
        return found

    def _read(self, path: str) -> str:
        try:
            return os.pread(self._file(path, os.O_RDONLY), MOST, 0).decode("ascii")
        except OSError:
            return ""

    def _prefer(self, value: bytes) -> None:
        with suppress(OSError):
            os.pwrite(self._file("/proc/self/oom_score_adj", os.O_WRONLY), value, 0)

    def _file(self, path: str, mode: int) -> int:
        if (path, mode) not in self._files:
            self._files[path, mode] = os.open(path, mode | os.O_CLOEXEC)
        return self._files[path, mode]


def _counts(name: str, text: str) -> "dict[str, int]":
    """What a file of the kernel says, under names that are the same for both versions of its interface."""
    if name in ("memory.max_usage_in_bytes", "memory.peak"):
        return {"memory_peak": int(text)} if text.strip().isdigit() else {}
    fields = dict(line.split(None, 1) for line in text.splitlines() if " " in line)
    if name == "pids.events":
        return {"process_limit_hits": int(fields.get("max", 0))}
    return {"out_of_memory_kills": int(fields.get("oom_kill", 0))}


def _configure(directory: str, group: Mapping[str, Any]) -> None:
    for name, value in group["settings"]:
        try:
            _write(f"{directory}/{name}", value)
        except OSError:
            if name not in OPTIONAL:
                raise


def _write(path: str, value: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, value.encode())
    finally:
        os.close(descriptor)


def _remove(directory: str) -> None:
    """The kernel needs a moment after the last process; what it does not give up is left for the next sweep."""
    for _ in range(ATTEMPTS):
        try:
            os.rmdir(directory)  # noqa: PTH106 - nothing is imported here that is not needed
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(PAUSE)
        else:
            return


_swept: set[str] = set()


def _sweep(parent: str) -> None:
    """Remove what supervisors that were killed have left behind."""
    if parent in _swept:
        return
    _swept.add(parent)
    for entry in os.scandir(parent):
        pid = entry.name[len(PREFIX) :].partition("-")[0] if entry.name.startswith(PREFIX) else ""
        if pid.isdigit() and look(int(pid)) is None:
            with suppress(OSError):
                os.rmdir(entry.path)  # noqa: PTH106 - nothing is imported here that is not needed
