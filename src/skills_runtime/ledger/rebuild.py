"""Rebuild the index from run directories: index existing runs, drop missing ones, report problems.

The caller supplies the function that reads a run directory.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from skills_runtime.errors import LogCorrupt, SkillsRuntimeError, UsageError
from skills_runtime.ledger.index import Entry, Outcome, RunIndex, is_gone
from skills_runtime.ledger.rows import RunRow, searchable
from skills_runtime.runs import is_legal_id, runs_root

BATCH = 500
Item = TypeVar("Item")
Read = Callable[[Path], tuple[RunRow, str]]
"""Reads one run directory: its row, and its prompt and final output as one text."""

_UNREADABLE = (SkillsRuntimeError, OSError, ValueError, RecursionError, msgspec.MsgspecError)


class Problem(NamedTuple):
    """Something in a root that could not be indexed."""

    path: Path
    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class RebuildReport:
    """How many runs were indexed, how many rows were dropped, and what could not be read."""

    indexed: int
    removed: int
    problems: tuple[Problem, ...]


class _RunDirectory(NamedTuple):
    name: str
    directory: Path


def rebuild(index: RunIndex, roots: Iterable[Path], read: Read) -> RebuildReport:
    """Make the index agree with the run directories below `roots`, and remember those roots."""
    directories = sorted({Path(os.path.abspath(root)) for root in roots})
    items = [item for directory in directories for item in _scan_root(directory)]
    problems = [item for item in items if isinstance(item, Problem)]
    runs = [item for item in items if isinstance(item, _RunDirectory)]
    indexed = 0
    for batch in _batches(runs):
        failed = _index(index, batch, read)
        indexed += len(batch) - len(failed)
        problems += failed
    removed = _drop_gone(index, directories)
    problems += [problem for directory in directories for problem in _remember_root(index, directory)]
    return RebuildReport(indexed=indexed, removed=removed, problems=tuple(sorted(problems)))


def _scan_root(root: Path) -> Iterator[_RunDirectory | Problem]:
    try:
        paths = sorted(root.iterdir())
    except OSError as error:
        yield _problem(root, error)
        return
    for path in paths:
        if not is_legal_id(path.name):
            continue
        if path.is_symlink():
            yield _resolve_link(path)
        elif path.is_dir():
            yield _RunDirectory(path.name, path)


def _resolve_link(link: Path) -> _RunDirectory | Problem:
    try:
        target = link.parent / link.readlink()
        if target.is_symlink():
            return Problem(link, "validation", f"`{link}` leads to another symbolic link")
        directory = target.resolve()
    except (OSError, RuntimeError) as error:
        return _problem(link, error)
    if is_gone(directory):
        return Problem(link, "not_found", f"`{link}` leads to `{directory}`, where no directory is")
    return _RunDirectory(link.name, directory)


def _index(index: RunIndex, batch: Sequence[_RunDirectory], read: Read) -> list[Problem]:
    failed = _record(index, batch, read)
    # The writer of a live run may have recorded more since it was read here: look again before calling a log cut.
    retries = [run for run, problem in failed.items() if problem.kind == LogCorrupt.kind]
    if retries:
        failed = {run: problem for run, problem in failed.items() if run not in retries}
        failed |= _record(index, retries, read)
    return list(failed.values())


def _record(index: RunIndex, batch: Sequence[_RunDirectory], read: Read) -> dict[_RunDirectory, Problem]:
    # Reading may take long, so it is done before the transaction that keeps every other writer waiting.
    entries = {run: _entry(run, read) for run in batch}
    failed = {run: entry for run, entry in entries.items() if isinstance(entry, Problem)}
    readable = {run: entry for run, entry in entries.items() if isinstance(entry, Entry)}
    for run, outcome in zip(readable, index.record_all(readable.values()), strict=True):
        if outcome != "stored":
            failed[run] = _rejection(run, outcome)
    return failed


def _entry(run: _RunDirectory, read: Read) -> Entry | Problem:
    try:
        row, text = read(run.directory)
    except _UNREADABLE as error:
        return _problem(run.directory, error)
    if row.run_id != run.name:
        return Problem(run.directory, "validation", f"`{run.name}` holds the run `{row.run_id}`")
    return Entry(msgspec.structs.replace(row, path=str(run.directory)), searchable(text))


def _rejection(run: _RunDirectory, outcome: Outcome) -> Problem:
    if isinstance(outcome, UsageError):
        return _problem(run.directory, outcome)
    return Problem(
        run.directory,
        LogCorrupt.kind,
        f"the log of `{run.name}` is shorter than it was when its state was last recorded",
    )


def _drop_gone(index: RunIndex, roots: Sequence[Path]) -> int:
    homes = {home for root in roots for home in (root, Path(os.path.realpath(root)))}
    missing = [
        run_id
        for run_id, directory, workspace in index.locations()
        if (directory.parent in homes or runs_root(workspace) in homes) and is_gone(directory)
    ]
    return sum(index.forget_all(batch) for batch in _batches(missing))


def _remember_root(index: RunIndex, root: Path) -> Iterator[Problem]:
    try:
        if not is_gone(root):
            index.remember_root(root)
    except UsageError as error:
        yield _problem(root, error)


def _problem(path: Path, error: Exception) -> Problem:
    if isinstance(error, SkillsRuntimeError):
        return Problem(path, error.kind, error.message)
    if isinstance(error, PermissionError):
        return Problem(path, "permission", str(error))
    if isinstance(error, FileNotFoundError):
        return Problem(path, "not_found", str(error))
    return Problem(path, "storage_error" if isinstance(error, OSError) else "validation", str(error))


def _batches(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]
