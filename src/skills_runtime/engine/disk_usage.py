"""How much room everything takes on the disk: counted up to a limit, so that asking is never expensive."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import msgspec

from skills_runtime.runs import RunPaths, is_legal_id, runs_root
from skills_runtime.storage import disk_usage

MAX_FILES = 200_000
MAX_SECONDS = 2.0
LARGEST = 10


class Budget:
    """How much may still be looked at."""

    def __init__(self, files: int = MAX_FILES, seconds: float = MAX_SECONDS) -> None:
        self._files = files
        self._until = monotonic() + seconds

    def spend(self) -> bool:
        """Take one look; false when there is none left."""
        self._files -= 1
        return self._files >= 0 and monotonic() < self._until


class Room(msgspec.Struct, kw_only=True):
    """What one directory takes."""

    bytes: int = 0
    files: int = 0
    complete: bool = True


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of what is kept: where, how much, and how many things of its kind."""

    name: str
    path: str
    bytes: int
    files: int
    count: int
    complete: bool
    """Whether everything was counted."""


class Storage(msgspec.Struct, frozen=True, kw_only=True):
    """What everything takes, and what is left."""

    parts: tuple[Part, ...]
    disk: dict[str, int]
    largest_runs: tuple[dict[str, object], ...]


def measured(workspace: Path, executions: Path, state: Path, caches: Path) -> Storage:
    """Count what is kept for a workspace; links are not followed."""
    budget = Budget()  # of all together: each part begins with what the ones before have left
    runs = [(name, _room(path, budget)) for name, path in _runs(workspace, budget)]
    largest = sorted(runs, key=lambda one: one[1].bytes, reverse=True)[:LARGEST]
    used = Room(
        bytes=sum(room.bytes for _, room in runs),
        files=sum(room.files for _, room in runs),
        complete=all(room.complete for _, room in runs) and budget.spend(),
    )
    disk = shutil.disk_usage(workspace)
    return Storage(
        parts=(
            _part("runs", runs_root(workspace), used, len(runs)),
            _part("executions", executions, _room(executions, budget), _count(executions, "exec-")),
            _part("caches", caches, _room(caches, budget), _count(caches)),
            _part("state", state, _room(state, budget), _count(state)),
        ),
        disk={"free": disk.free, "total": disk.total},
        largest_runs=tuple({"run_id": name, "bytes": room.bytes} for name, room in largest),
    )


def _runs(workspace: Path, budget: Budget) -> Iterator[tuple[str, Path]]:
    """The runs of a workspace; one that lives elsewhere is reached by its link."""
    path = runs_root(workspace)
    for name in _names(path):
        if not budget.spend():
            return
        if is_legal_id(name) and (place := _place(path / name)) is not None:
            yield name, place


def _place(link: Path) -> Path | None:
    """Where a run really is, or nothing where a link leads nowhere or it is not ours to look into."""
    try:
        paths = RunPaths(link.resolve())
        return paths.root if paths.events.is_file() else None
    except (OSError, RuntimeError):
        return None


def _part(name: str, path: Path, room: Room, count: int) -> Part:
    return Part(name=name, path=str(path), count=count, **msgspec.structs.asdict(room))


def _count(directory: Path, prefix: str = "") -> int:
    return sum(name.startswith(prefix) and not name.startswith(".") for name in _names(directory))


def _names(directory: Path) -> list[str]:
    try:
        return sorted(os.listdir(directory))  # noqa: PTH208 - names are enough, and there may be many
    except OSError:
        return []


def _room(directory: Path, budget: Budget) -> Room:
    size, files, complete = disk_usage(directory, budget.spend)
    return Room(bytes=size, files=files, complete=complete)
