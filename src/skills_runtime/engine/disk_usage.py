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
MAX_LARGEST_RUNS = 10


class ScanBudget:
    """How much may still be looked at."""

    def __init__(self, max_files: int = MAX_FILES, max_seconds: float = MAX_SECONDS) -> None:
        self._remaining_files = max_files
        self._deadline = monotonic() + max_seconds

    def spend(self) -> bool:
        """Take one look; false when there is none left."""
        self._remaining_files -= 1
        return self._remaining_files >= 0 and monotonic() < self._deadline


class DirectoryUsage(msgspec.Struct, kw_only=True):
    """What one directory takes."""

    bytes: int = 0
    files: int = 0
    complete: bool = True


class StorageCategory(msgspec.Struct, frozen=True, kw_only=True):
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

    parts: tuple[StorageCategory, ...]
    disk: dict[str, int]
    largest_runs: tuple[dict[str, object], ...]


def measure_storage(workspace: Path, executions: Path, state: Path, caches: Path) -> Storage:
    """Count what is kept for a workspace; links are not followed."""
    budget = ScanBudget()  # of all together: each part begins with what the ones before have left
    runs = [(name, _measure_directory(path, budget)) for name, path in _runs(workspace, budget)]
    largest = sorted(runs, key=lambda run: run[1].bytes, reverse=True)[:MAX_LARGEST_RUNS]
    total = DirectoryUsage(
        bytes=sum(usage.bytes for _, usage in runs),
        files=sum(usage.files for _, usage in runs),
        complete=all(usage.complete for _, usage in runs) and budget.spend(),
    )
    disk = shutil.disk_usage(workspace)
    return Storage(
        parts=(
            _category("runs", runs_root(workspace), total, len(runs)),
            _category("executions", executions, _measure_directory(executions, budget), _count(executions, "exec-")),
            _category("caches", caches, _measure_directory(caches, budget), _count(caches)),
            _category("state", state, _measure_directory(state, budget), _count(state)),
        ),
        disk={"free": disk.free, "total": disk.total},
        largest_runs=tuple({"run_id": name, "bytes": usage.bytes} for name, usage in largest),
    )


def _runs(workspace: Path, budget: ScanBudget) -> Iterator[tuple[str, Path]]:
    """The runs of a workspace; one that lives elsewhere is reached by its link."""
    directory = runs_root(workspace)
    for name in _names(directory):
        if not budget.spend():
            return
        if is_legal_id(name) and (path := _resolve_run(directory / name)) is not None:
            yield name, path


def _resolve_run(link: Path) -> Path | None:
    """Where a run really is, or nothing where a link leads nowhere or it is not ours to look into."""
    try:
        paths = RunPaths(link.resolve())
        return paths.root if paths.events.is_file() else None
    except (OSError, RuntimeError):
        return None


def _category(name: str, path: Path, usage: DirectoryUsage, count: int) -> StorageCategory:
    return StorageCategory(name=name, path=str(path), count=count, **msgspec.structs.asdict(usage))


def _count(directory: Path, prefix: str = "") -> int:
    return sum(name.startswith(prefix) and not name.startswith(".") for name in _names(directory))


def _names(directory: Path) -> list[str]:
    try:
        return sorted(os.listdir(directory))  # noqa: PTH208 - names are enough, and there may be many
    except OSError:
        return []


def _measure_directory(directory: Path, budget: ScanBudget) -> DirectoryUsage:
    size, files, complete = disk_usage(directory, budget.spend)
    return DirectoryUsage(bytes=size, files=files, complete=complete)
