"""Which control groups this user can make, so that the kernel limits memory and processes of a whole command."""

import os
from pathlib import Path
from typing import Literal

import msgspec

from skills_runtime.ports import ControlGroup

_MEMORY, _PIDS = "memory", "pids"


class ControlGroups(msgspec.Struct, frozen=True, kw_only=True):
    """Where groups can be made, and by which version of the interface."""

    version: Literal[1, 2]
    memory: Path | None = None
    """The directory in which a group for memory can be made."""
    pids: Path | None = None
    home: Path | None = None
    """Where this process is itself, in the second version, in which one place serves both."""

    def groups(self, *, memory_bytes: int | None, processes: int | None) -> tuple[ControlGroup, ...]:
        """The groups that enforce these limits."""
        if self.version == 1:
            return self._first_version(memory_bytes, processes)
        settings = [
            *([("memory.max", str(memory_bytes)), ("memory.swap.max", "0")] if memory_bytes else []),
            *([("pids.max", str(processes))] if processes else []),
        ]
        if not settings or self.memory is None or self.home is None:
            return ()
        counters = ("memory.events", "memory.peak", "pids.events")
        return (
            ControlGroup(parent=str(self.memory), home=str(self.home), settings=tuple(settings), counters=counters),
        )

    def _first_version(self, memory_bytes: int | None, processes: int | None) -> tuple[ControlGroup, ...]:
        groups: list[ControlGroup] = []
        if self.memory is not None and memory_bytes:
            settings = (("memory.limit_in_bytes", str(memory_bytes)), ("memory.swappiness", "0"))
            counters = ("memory.oom_control", "memory.max_usage_in_bytes")
            groups.append(_group(self.memory, settings, counters))
        if self.pids is not None and processes:
            groups.append(_group(self.pids, (("pids.max", str(processes)),), ("pids.events",)))
        return tuple(groups)


def _group(parent: Path, settings: tuple[tuple[str, str], ...], counters: tuple[str, ...]) -> ControlGroup:
    return ControlGroup(parent=str(parent), home=str(parent), settings=settings, counters=counters)


def find_control_groups() -> ControlGroups | None:
    """The groups this process may make below its own; nothing when there are none."""
    try:
        memberships = Path("/proc/self/cgroup").read_text(encoding="utf-8")
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    except OSError:
        return None
    places = places_of(memberships, mounts)
    unified = places.get("")
    if unified is not None and (parent := _delegated(unified)) is not None:
        return ControlGroups(version=2, memory=parent, pids=parent, home=unified)
    memory, pids = (_usable(places.get(name)) for name in (_MEMORY, _PIDS))
    return ControlGroups(version=1, memory=memory, pids=pids) if memory or pids else None


def places_of(memberships: str, mounts: str) -> dict[str, Path]:
    """The directory of this process for each controller; the empty name is the unified hierarchy."""
    roots: dict[str, tuple[str, str]] = {}
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if kind[:1] == ["cgroup2"]:
            roots[""] = (fields[3], fields[4])
        elif kind[:1] == ["cgroup"]:
            for controller in kind[2].split(","):
                roots.setdefault(controller, (fields[3], fields[4]))
    places: dict[str, Path] = {}
    for line in memberships.splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            if controller in roots:
                root, mount = roots[controller]
                places[controller] = Path(mount) / os.path.relpath(path, root)
    return places


def _delegated(own: Path) -> Path | None:
    """The nearest directory above in which a group with both controllers can be made by this user."""
    for directory in (own, *own.parents):
        try:
            offered = (directory / "cgroup.subtree_control").read_text(encoding="utf-8").split()
        except OSError:
            return None
        if {_MEMORY, _PIDS} <= set(offered):
            files = (directory, directory / "cgroup.procs")
            return directory if all(os.access(path, os.W_OK) for path in files) else None
    return None


def _usable(directory: Path | None) -> Path | None:
    if directory is None or not os.access(directory, os.W_OK) or not os.access(directory / "cgroup.procs", os.W_OK):
        return None
    return directory
