"""How long executions are kept: which of those that have ended may go, and their removal.

Nothing is removed unless somebody says how much is to be kept. What is chosen is a pure function; the rest looks at the
disk, in small steps that leave the event loop alone.
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
"""Who was just told of an execution may still fetch its files, or ask again under its key, however full it is."""
BATCH = 50
"""Executions that are looked at before others have a turn."""
MAX_ENTRIES = 10_000
"""Files of one execution that are counted; more than are ever kept of one."""
T = TypeVar("T")


class Retention(msgspec.Struct, frozen=True, kw_only=True):
    """How much of what has ended is kept; nothing said means everything."""

    days: float | None = None
    """Since their end; older ones go."""
    bytes: int | None = None
    """Of all together; the oldest go until the rest is no more than this."""

    @property
    def is_off(self) -> bool:
        """Whether everything is kept."""
        return self.days is None and self.bytes is None


class EndedExecution(msgspec.Struct, frozen=True, kw_only=True):
    """An execution as far as it matters for how long it is kept."""

    execution_id: str
    status: Status
    finished: float
    """Seconds since 1970."""
    bytes: int = 0


class RemovalCount(msgspec.Struct, frozen=True, kw_only=True):
    """What became of those that were to go."""

    removed: int = 0
    bytes: int = 0
    failed: int = 0
    """Those that could not be removed; they are tried again the next time."""


def select_expired(
    executions: Iterable[EndedExecution], retention: Retention, *, now: float
) -> Sequence[EndedExecution]:
    """Those that may go, the oldest first: never one under way, and no more than have to."""
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
    """Remove what need not be kept any longer; one that cannot be removed does not stop the others."""
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
    """What a directory takes on the disk, as far as it can be counted; no link is followed."""
    if Path(directory).is_symlink():
        return 0
    entries = iter(range(MAX_ENTRIES))
    return disk_usage(directory, lambda: next(entries, None) is not None)[0]


def _read_batch(store: ExecutionStore, ids: Sequence[str], retention: Retention) -> list[EndedExecution]:
    executions: list[EndedExecution] = []
    for execution_id in ids:
        try:
            record = store.layout.read(execution_id)
        except NotFound:  # it is just being begun, or removed
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
        except NotFound:  # somebody else was quicker
            continue
        except SkillsRuntimeError:
            failed += 1
        else:
            removed, size = removed + 1, size + execution.bytes
    return RemovalCount(removed=removed, bytes=size, failed=failed)


def _seconds(time: str) -> float | None:
    """A time of ours as a number; nothing for what is none, for it says nothing about any age."""
    try:
        return datetime.fromisoformat(time).timestamp()
    except (ValueError, OverflowError):
        return None


def _batches(items: Sequence[T]) -> Iterable[Sequence[T]]:
    return (items[start : start + BATCH] for start in range(0, len(items), BATCH))


async def _in_thread(work: Callable[..., T], *arguments: object) -> T:
    """Have a thread do it; whoever is told to stop meanwhile waits for this one step."""
    task = asyncio.ensure_future(asyncio.to_thread(work, *arguments))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await wait_uncancelled(task)
        raise
