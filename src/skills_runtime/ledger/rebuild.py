"""Re-derive the index from run directories: what is there is indexed, what is gone is dropped, what is odd is told.

Knows nothing of how a run directory is read; the caller brings that.
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


class _Found(NamedTuple):
    name: str
    directory: Path


def rebuild(index: RunIndex, roots: Iterable[Path], read: Read) -> RebuildReport:
    """Make the index agree with the run directories below `roots`, and remember those roots."""
    paths = sorted({Path(os.path.abspath(root)) for root in roots})
    seen = [item for path in paths for item in _look(path)]
    problems = [item for item in seen if isinstance(item, Problem)]
    found = [item for item in seen if isinstance(item, _Found)]
    indexed = 0
    for batch in _batches(found):
        failed = _index(index, batch, read)
        indexed += len(batch) - len(failed)
        problems += failed
    removed = _drop_gone(index, paths)
    problems += [problem for place in paths for problem in _remember(index, place)]
    return RebuildReport(indexed=indexed, removed=removed, problems=tuple(sorted(problems)))


def _look(place: Path) -> Iterator[_Found | Problem]:
    try:
        paths = sorted(place.iterdir())
    except OSError as error:
        yield _problem(place, error)
        return
    for path in paths:
        if not is_legal_id(path.name):
            continue
        if path.is_symlink():
            yield _followed(path)
        elif path.is_dir():
            yield _Found(path.name, path)


def _followed(link: Path) -> _Found | Problem:
    try:
        target = link.parent / link.readlink()
        if target.is_symlink():
            return Problem(link, "validation", f"`{link}` leads to another symbolic link")
        directory = target.resolve()
    except (OSError, RuntimeError) as error:
        return _problem(link, error)
    if is_gone(directory):
        return Problem(link, "not_found", f"`{link}` leads to `{directory}`, where no directory is")
    return _Found(link.name, directory)


def _index(index: RunIndex, batch: Sequence[_Found], read: Read) -> list[Problem]:
    failed = _record(index, batch, read)
    # The writer of a live run may have recorded more since it was read here: look again before calling a log cut.
    again = [found for found, problem in failed.items() if problem.kind == LogCorrupt.kind]
    if again:
        failed = {found: problem for found, problem in failed.items() if found not in again}
        failed |= _record(index, again, read)
    return list(failed.values())


def _record(index: RunIndex, batch: Sequence[_Found], read: Read) -> dict[_Found, Problem]:
    # Reading may take long, so it is done before the transaction that keeps every other writer waiting.
    entries = {found: _entry(found, read) for found in batch}
    failed = {found: entry for found, entry in entries.items() if isinstance(entry, Problem)}
    readable = {found: entry for found, entry in entries.items() if isinstance(entry, Entry)}
    for found, outcome in zip(readable, index.record_all(readable.values()), strict=True):
        if outcome != "stored":
            failed[found] = _refused(found, outcome)
    return failed


def _entry(found: _Found, read: Read) -> Entry | Problem:
    try:
        row, text = read(found.directory)
    except _UNREADABLE as error:
        return _problem(found.directory, error)
    if row.run_id != found.name:
        return Problem(found.directory, "validation", f"`{found.name}` holds the run `{row.run_id}`")
    return Entry(msgspec.structs.replace(row, path=str(found.directory)), searchable(text))


def _refused(found: _Found, outcome: Outcome) -> Problem:
    if isinstance(outcome, UsageError):
        return _problem(found.directory, outcome)
    return Problem(
        found.directory,
        LogCorrupt.kind,
        f"the log of `{found.name}` is shorter than it was when its state was last recorded",
    )


def _drop_gone(index: RunIndex, paths: Sequence[Path]) -> int:
    homes = {home for path in paths for home in (path, Path(os.path.realpath(path)))}
    gone = [
        run_id
        for run_id, directory, workspace in index.places()
        if (directory.parent in homes or runs_root(workspace) in homes) and is_gone(directory)
    ]
    return sum(index.forget_all(batch) for batch in _batches(gone))


def _remember(index: RunIndex, path: Path) -> Iterator[Problem]:
    try:
        if not is_gone(path):
            index.remember_root(path)
    except UsageError as error:
        yield _problem(path, error)


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
