"""Control groups of a supervisor, which stays in them between commands because moving costs more than staying.

Its children start in the same groups. It is small, and the OOM killer is told to prefer others.
"""

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from .process_tree import find_process

PREFIX = "skills-runtime-"
ATTEMPTS = 100
PAUSE = 0.005
# Not every kernel has these settings; the others hold without them.
OPTIONAL = ("memory.swappiness", "memory.swap.max")
FIRST_OOM_VICTIM = b"500"
DEFAULT_OOM_SCORE = b"0"
MAX_COUNTER_BYTES = 1 << 16
"""Bytes of a counter file."""
RESET = "memory.max_usage_in_bytes"
"""A counter that is reset for each command."""

GroupSpecs = Sequence[Mapping[str, Any]]


class Groups:
    """The groups of one supervisor."""

    def __init__(self) -> None:
        # A process ID alone could belong to a process of another container that sees the same groups.
        self._name = f"{PREFIX}{os.getpid()}-{time.monotonic_ns():x}"
        self._specs: GroupSpecs = ()
        self._before: dict[str, int] = {}
        # Kept open: opening costs most of each access.
        self._files: dict[tuple[str, int], int] = {}

    def includes(self, specs: GroupSpecs) -> bool:
        """Return whether this process is already in these groups."""
        return [group["parent"] for group in specs] == [group["parent"] for group in self._specs]

    def enter(self, specs: GroupSpecs) -> None:
        """Join the groups and set the limits, before the next command starts."""
        if not self.includes(specs):
            self.close()
            self._create(specs)
        else:
            for group, now in zip(specs, self._specs, strict=True):
                if group["settings"] != now["settings"]:
                    _configure(self._directory(group), group)
        self._specs = specs
        if specs:
            with suppress(OSError):
                os.pwrite(self._file(f"{self._directory(specs[0])}/{RESET}", os.O_WRONLY), b"0", 0)
            self._before = self._counters()
            self._set_oom_score(FIRST_OOM_VICTIM)

    def reset_oom_score(self) -> None:
        """Restore this process's OOM score once the command is the preferred victim."""
        if self._specs:
            self._set_oom_score(DEFAULT_OOM_SCORE)

    def read_counters(self) -> "dict[str, int]":
        """Return the kernel's counters since the command started."""
        now = self._counters()
        return {
            name: value if name == "memory_peak" else value - self._before.get(name, 0) for name, value in now.items()
        }

    def close(self) -> None:
        """Return to the original groups, and remove these."""
        for descriptor in self._files.values():
            os.close(descriptor)
        self._files = {}
        for group in self._specs:
            with suppress(OSError):
                _write(f"{group['home']}/cgroup.procs", "0")
            _remove(self._directory(group))
        self._specs = ()

    def _create(self, specs: GroupSpecs) -> None:
        for group in specs:
            _sweep(group["parent"])
            os.mkdir(self._directory(group))  # noqa: PTH102 - nothing is imported here that is not needed
            self._specs = (*self._specs, group)
            _configure(self._directory(group), group)
        for group in specs:
            _write(f"{self._directory(group)}/cgroup.procs", "0")

    def _directory(self, group: Mapping[str, Any]) -> str:
        return f"{group['parent']}/{self._name}"

    def _counters(self) -> "dict[str, int]":
        counters: dict[str, int] = {}
        for group in self._specs:
            for name in group["counters"]:
                counters |= _parse_counters(name, self._read(f"{self._directory(group)}/{name}"))
        return counters

    def _read(self, path: str) -> str:
        try:
            return os.pread(self._file(path, os.O_RDONLY), MAX_COUNTER_BYTES, 0).decode("ascii")
        except OSError:
            return ""

    def _set_oom_score(self, value: bytes) -> None:
        with suppress(OSError):
            os.pwrite(self._file("/proc/self/oom_score_adj", os.O_WRONLY), value, 0)

    def _file(self, path: str, mode: int) -> int:
        if (path, mode) not in self._files:
            self._files[path, mode] = os.open(path, mode | os.O_CLOEXEC)
        return self._files[path, mode]


def _parse_counters(name: str, text: str) -> "dict[str, int]":
    """Parse a counter file, with the same names for cgroup v1 and v2."""
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
    # The kernel needs a moment after the last process has gone; the next sweep removes what is left.
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
    """Remove groups left behind by killed supervisors."""
    if parent in _swept:
        return
    _swept.add(parent)
    for entry in os.scandir(parent):
        pid = entry.name[len(PREFIX) :].partition("-")[0] if entry.name.startswith(PREFIX) else ""
        if pid.isdigit() and find_process(int(pid)) is None:
            with suppress(OSError):
                os.rmdir(entry.path)  # noqa: PTH106 - nothing is imported here that is not needed
