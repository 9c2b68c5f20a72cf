"""Measure disk usage, up to a limited number of entries so that a request is never expensive."""

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
    """The number of entries that may still be visited."""

    def __init__(self, max_files: int = MAX_FILES, max_seconds: float = MAX_SECONDS) -> None:
        self._remaining_files = max_files
        self._deadline = monotonic() + max_seconds

    def spend(self) -> bool:
        """Count one entry; return false if the budget is used up."""
        self._remaining_files -= 1
        return self._remaining_files >= 0 and monotonic() < self._deadline


class DirectoryUsage(msgspec.Struct, kw_only=True):
    """The usage of one directory."""

    bytes: int = 0
    files: int = 0
    complete: bool = True


class StorageCategory(msgspec.Struct, frozen=True, kw_only=True):
    """One category of stored data: where, how much, and how many items."""

    name: str
    path: str
    bytes: int
    files: int
    count: int
    complete: bool
    """Whether everything was counted."""


class Storage(msgspec.Struct, frozen=True, kw_only=True):
    """The usage of each category, and the free space."""

    parts: tuple[StorageCategory, ...]
    disk: dict[str, int]
    largest_runs: tuple[dict[str, object], ...]


def measure_storage(workspace: Path, executions: Path, state: Path, caches: Path) -> Storage:
    """Measure what is stored for a workspace, without following links."""
    budget = ScanBudget()  # of all together: each part begins with what the ones before have left
    runs = [(name, _measure_directory(path, budget)) for name, path in _list_runs(workspace, budget)]
    largest = sorted(runs, key=lambda run: run[1].bytes, reverse=True)[:MAX_LARGEST_RUNS]
    total = DirectoryUsage(
        bytes=sum(usage.bytes for _, usage in runs),
        files=sum(usage.files for _, usage in runs),
        complete=all(usage.complete for _, usage in runs) and budget.spend(),
    )
    disk = shutil.disk_usage(workspace)
    return Storage(
        parts=(
            _build_category("runs", runs_root(workspace), total, len(runs)),
            _build_category(
                "executions", executions, _measure_directory(executions, budget), _count(executions, "exec-")
            ),
            _build_category("caches", caches, _measure_directory(caches, budget), _count(caches)),
            _build_category("state", state, _measure_directory(state, budget), _count(state)),
        ),
        disk={"free": disk.free, "total": disk.total},
        largest_runs=tuple({"run_id": name, "bytes": usage.bytes} for name, usage in largest),
    )


def _list_runs(workspace: Path, budget: ScanBudget) -> Iterator[tuple[str, Path]]:
    """Yield the runs of a workspace; a run stored elsewhere is reached through its link."""
    directory = runs_root(workspace)
    for name in _list_names(directory):
        if not budget.spend():
            return
        if is_legal_id(name) and (path := _resolve_run(directory / name)) is not None:
            yield name, path


def _resolve_run(link: Path) -> Path | None:
    """Return the directory of a run, or nothing if the link is broken or leads to another user's directory."""
    try:
        paths = RunPaths(link.resolve())
        return paths.root if paths.events.is_file() else None
    except (OSError, RuntimeError):
        return None


def _build_category(name: str, path: Path, usage: DirectoryUsage, count: int) -> StorageCategory:
    return StorageCategory(name=name, path=str(path), count=count, **msgspec.structs.asdict(usage))


def _count(directory: Path, prefix: str = "") -> int:
    return sum(name.startswith(prefix) and not name.startswith(".") for name in _list_names(directory))


def _list_names(directory: Path) -> list[str]:
    try:
        return sorted(os.listdir(directory))  # noqa: PTH208 - names are enough, and there may be many
    except OSError:
        return []


def _measure_directory(directory: Path, budget: ScanBudget) -> DirectoryUsage:
    size, files, complete = disk_usage(directory, budget.spend)
    return DirectoryUsage(bytes=size, files=files, complete=complete)
