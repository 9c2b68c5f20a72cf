"""Delete runs: their directories, their sub-agents' runs and their rows in the index."""

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from skills_runtime.engine.run_index import is_subagent_run
from skills_runtime.errors import IllegalTransition, NotFound, SkillsRuntimeError
from skills_runtime.events import RunStatus
from skills_runtime.ledger import PAGE_LIMIT, RunIndex, RunRow, is_gone
from skills_runtime.runs import RunLock, RunPaths, fork_of
from skills_runtime.storage import disk_usage, remove_tree

ENDED = (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED)
_ASIDE = ".deleted."
"""Prefix of a directory that is being removed; no run can have such a name."""


class DeletedRuns(msgspec.Struct, frozen=True, kw_only=True):
    """The deleted runs, and the space that they took."""

    run_ids: tuple[str, ...] = ()
    bytes: int = 0
    skipped: tuple[str, ...] = ()
    """Runs that were not deleted, because a fork or a process needs them."""

    def __add__(self, other: "DeletedRuns") -> "DeletedRuns":
        return DeletedRuns(
            run_ids=(*self.run_ids, *other.run_ids),
            bytes=self.bytes + other.bytes,
            skipped=(*self.skipped, *other.skipped),
        )


class ForkIndex:
    """The forks of each run: a fork reads the log of the run that it was forked from."""

    def __init__(self, index: RunIndex) -> None:
        self._forks: defaultdict[Path, set[str]] = defaultdict(set)
        for row in list_rows(index):
            with suppress(SkillsRuntimeError, OSError, ValueError, StopIteration):  # unreadable runs have no forks
                if (point := fork_of(RunPaths(Path(row.path)))) is not None:
                    self._forks[Path(point.root).resolve()].add(row.run_id)

    def check(self, rows: Sequence[RunRow]) -> None:
        """Refuse to delete runs that others were forked from."""
        run_ids = {row.run_id for row in rows}
        for row in rows:
            forks = sorted(self._forks[Path(row.path).resolve()] - run_ids)
            if forks:
                names = ", ".join(f"`{name}`" for name in forks[:3])
                raise IllegalTransition(
                    f"the log of `{row.run_id}` is needed by its forks: {names}", hint="delete them first"
                )

    def remove(self, run_ids: Sequence[str]) -> None:
        """Forget forks that were deleted."""
        for forks in self._forks.values():
            forks.difference_update(run_ids)


def list_family(index: RunIndex, run_id: str) -> list[RunRow]:
    """Return a run and those of its sub-agents, at all depths; refuse a run that is itself a sub-agent's."""
    children: defaultdict[str | None, list[RunRow]] = defaultdict(list)
    for row in list_rows(index):
        children[row.parent_run_id].append(row)
    rows = [index.get(run_id)]
    parent_id = rows[0].parent_run_id
    if parent_id is not None and is_subagent_run(rows[0]) and _is_known(index, parent_id):
        raise IllegalTransition(
            f"`{run_id}` is the run of a sub-agent of `{parent_id}`", hint="delete the run that it belongs to"
        )
    for row in rows:  # grows while it is read
        rows.extend(child for child in children[row.run_id] if is_subagent_run(child))
    return rows


def list_rows(index: RunIndex) -> Iterator[RunRow]:
    """Yield all runs in the index, newest first."""
    cursor: str | None = None
    while rows := index.list(limit=PAGE_LIMIT, before=cursor):
        yield from rows
        cursor = rows[-1].cursor


def select_prunable(
    rows: Sequence[RunRow], *, now: str, older_than: timedelta | None, keep: int | None
) -> list[RunRow]:
    """Return the ended runs to prune: all but the newest `keep`, if they are older than `older_than`.

    `rows` are newest first, without the runs of sub-agents, which are deleted with the run that they belong to.
    """
    limit = datetime.fromisoformat(now).astimezone(UTC) - (older_than or timedelta())
    candidates = rows[keep or 0 :]
    return [row for row in candidates if row.status in ENDED and _last_change(row) <= limit]


def _last_change(row: RunRow) -> datetime:
    return datetime.fromisoformat(row.completed_at or row.updated_at or row.created_at).astimezone(UTC)


def delete_directories(index: RunIndex, rows: Sequence[RunRow]) -> DeletedRuns:
    """Delete ended runs; nothing is deleted if a process is writing one of them.

    Each directory is renamed first, so that a run is either complete or gone, also after a crash.
    """
    paths = [RunPaths(Path(row.path)) for row in rows if not is_gone(Path(row.path))]
    size, aside = 0, list[Path]()
    with ExitStack() as locks:
        for path in paths:
            locks.callback(RunLock(path.lock).release)
        for path in paths:
            if is_gone(path.root):  # it was inside of one before it
                continue
            size += disk_usage(path.root, lambda: True)[0]
            aside.append(path.root.rename(path.root.with_name(f"{_ASIDE}{path.root.name[:40]}.{os.urandom(6).hex()}")))
        index.forget_all(row.run_id for row in rows)
    for directory in aside:
        remove_tree(directory)
    return DeletedRuns(run_ids=tuple(row.run_id for row in rows), bytes=size)


def remove_leftovers(runs_directory: Path) -> None:
    """Remove directories whose deletion was interrupted."""
    if runs_directory.is_dir():
        for path in runs_directory.glob(f"{_ASIDE}*"):
            remove_tree(path, ignore_errors=True)


def _is_known(index: RunIndex, run_id: str) -> bool:
    try:
        return not is_gone(Path(index.get(run_id).path))
    except NotFound:
        return False
