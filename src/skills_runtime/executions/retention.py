"""Retention of ended executions: which ones expire, and their removal.

Nothing is removed unless a limit is set. The selection is a pure function; the disk is read in small steps, so the
event loop is not blocked.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import msgspec

from skills_runtime.errors import NotFound, SkillsRuntimeError
from skills_runtime.executions.runner import wait_uncancelled
from skills_runtime.executions.store import ExecutionStore
from skills_runtime.executions.values import Status
from skills_runtime.ports import Clock
from skills_runtime.storage import disk_usage

DAY_SECONDS = 24 * 60 * 60
GRACE_SECONDS = 15 * 60
"""Clients can fetch files and repeat a key for this long after the end, even when the limit is exceeded."""
BATCH = 50
"""Executions processed before other tasks get a turn."""
MAX_ENTRIES = 10_000
"""Files counted per execution; none stores more."""
T = TypeVar("T")


class Retention(msgspec.Struct, frozen=True, kw_only=True):
    """How many ended executions are kept; without limits, all of them."""

    days: float | None = None
    """Executions that ended longer ago are removed."""
    bytes: int | None = None
    """The oldest executions are removed until the total size fits."""

    @property
    def is_off(self) -> bool:
        """Return whether there is no limit."""
        return self.days is None and self.bytes is None


class EndedExecution(msgspec.Struct, frozen=True, kw_only=True):
    """The facts about an ended execution that its retention depends on."""

    execution_id: str
    status: Status
    finished: float
    """Seconds since the epoch."""
    bytes: int = 0


class RemovalCount(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a removal."""

    removed: int = 0
    bytes: int = 0
    failed: int = 0
    """Executions that could not be removed; the next removal tries again."""


def select_expired(
    executions: Iterable[EndedExecution], retention: Retention, *, now: float
) -> Sequence[EndedExecution]:
    """Select the executions to remove, the oldest first: never a running one, and no more than necessary."""
    candidates = sorted(
        (execution for execution in executions if execution.status != "running"),
        key=lambda execution: (execution.finished, execution.execution_id),
    )
    count = 0
    if retention.days is not None:
        oldest = now - retention.days * DAY_SECONDS
        count = sum(execution.finished < oldest for execution in candidates)
    if retention.bytes is not None:
        remaining = sum(execution.bytes for execution in candidates[count:])
        while remaining > retention.bytes and candidates[count].finished <= now - GRACE_SECONDS:
            remaining -= candidates[count].bytes
            count += 1
    return candidates[:count]


async def remove_expired(store: ExecutionStore, retention: Retention, clock: Clock) -> RemovalCount:
    """Remove expired executions; one that cannot be removed does not stop the others."""
    now = _seconds(clock.now())
    executions: list[EndedExecution] = []
    ids = await _in_thread(store.layout.ids) if now is not None and not retention.is_off else []
    for batch in _batches(ids):
        executions += await _in_thread(_read_batch, store, batch, retention)
    removed = size = failed = 0
    for batch in _batches(select_expired(executions, retention, now=now or 0.0)):
        count = await _in_thread(_remove_batch, store, batch)
        removed, size, failed = removed + count.removed, size + count.bytes, failed + count.failed
    return RemovalCount(removed=removed, bytes=size, failed=failed)


def measure_size(directory: str) -> int:
    """Return the disk usage of a directory, counting at most `MAX_ENTRIES` files and following no link."""
    if Path(directory).is_symlink():
        return 0
    entries = iter(range(MAX_ENTRIES))
    return disk_usage(directory, lambda: next(entries, None) is not None)[0]


def _read_batch(store: ExecutionStore, ids: Sequence[str], retention: Retention) -> list[EndedExecution]:
    executions: list[EndedExecution] = []
    for execution_id in ids:
        try:
            record = store.layout.read(execution_id)
        except NotFound:  # it is being created or removed
            continue
        finished = _seconds(record.finished_at or record.created_at)
        if record.status != "running" and finished is not None:
            size = measure_size(f"{store.layout.root}/{execution_id}") if retention.bytes is not None else 0
            executions.append(
                EndedExecution(execution_id=execution_id, status=record.status, finished=finished, bytes=size)
            )
    return executions


def _remove_batch(store: ExecutionStore, executions: Sequence[EndedExecution]) -> RemovalCount:
    removed = size = failed = 0
    for execution in executions:
        try:
            store.forget(store.layout.read(execution.execution_id))
        except NotFound:  # another process was faster
            continue
        except SkillsRuntimeError:
            failed += 1
        else:
            removed, size = removed + 1, size + execution.bytes
    return RemovalCount(removed=removed, bytes=size, failed=failed)


def _seconds(time: str) -> float | None:
    """Convert one of our timestamps to seconds; None if it is invalid, because its age is unknown."""
    try:
        return datetime.fromisoformat(time).timestamp()
    except (ValueError, OverflowError):
        return None


def _batches(items: Sequence[T]) -> Iterable[Sequence[T]]:
    return (items[start : start + BATCH] for start in range(0, len(items), BATCH))


async def _in_thread(work: Callable[..., T], *arguments: object) -> T:
    """Run work in a thread; on cancellation, wait for this step before raising."""
    task = asyncio.ensure_future(asyncio.to_thread(work, *arguments))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await wait_uncancelled(task)
        raise
