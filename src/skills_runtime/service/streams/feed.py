"""Changes of all runs of a workspace, as they come: one look at the index for everybody who listens."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from time import monotonic
from typing import NamedTuple

import msgspec

from skills_runtime.engine import RunService
from skills_runtime.errors import Busy, SkillsRuntimeError
from skills_runtime.ledger import RunRow

POLL_SECONDS = 0.5
"""How late a change is told."""
HEARTBEAT_SECONDS = 15.0
MAX_NEWEST = 300
"""How many of the newest runs are watched, besides all that wait or are under way."""
MAX_LISTENERS = 1_000
MAX_QUEUED = 1_000
"""Messages that a slow client may have open; it is cut off at one more, and comes again."""


class RunSnapshot(NamedTuple):
    """What is remembered of a run, to notice when it changes."""

    status: str
    last_seq: int
    pending: int


class Reader:
    """One who listens; its messages wait here until they are sent."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[bytes | None] = asyncio.Queue(MAX_QUEUED)

    def send(self, message: bytes | None) -> None:
        """Leave a message; whoever does not read is cut off instead."""
        try:
            self.queue.put_nowait(message)
        except asyncio.QueueFull:
            while not self.queue.empty():
                self.queue.get_nowait()
            self.queue.put_nowait(None)


class Feed:
    """Looks at the index while anybody listens, and tells them what changed."""

    def __init__(self, runs: RunService, is_stopping: Callable[[], bool] = bool) -> None:
        self._runs = runs
        self._is_stopping = is_stopping
        self._readers: set[Reader] = set()
        self._task: asyncio.Task[None] | None = None
        self._snapshots: Mapping[str, RunSnapshot] | None = None

    def listen(self) -> Reader:
        """Somebody new, to be left; from its greeting on it is told of everything."""
        if len(self._readers) >= MAX_LISTENERS or self._is_stopping():
            raise Busy("no more listeners are served now")
        reader = Reader()
        self._readers.add(reader)
        if self._snapshots is not None:
            reader.send(HELLO)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch(), name="feed")
        return reader

    def leave(self, reader: Reader) -> None:
        """Somebody stopped listening; for nobody nothing is looked at."""
        self._readers.discard(reader)
        if not self._readers and self._task is not None:
            self._task.cancel()
            self._task = self._snapshots = None

    def _broadcast(self, message: bytes | None) -> None:
        for reader in tuple(self._readers):
            reader.send(message)

    async def _watch(self) -> None:
        quiet_since = monotonic()
        try:
            while not self._is_stopping():
                with suppress(SkillsRuntimeError):  # an index that is busy is looked at the next time
                    if await self._poll():
                        quiet_since = monotonic()
                if monotonic() - quiet_since >= HEARTBEAT_SECONDS:
                    self._broadcast(b": alive\n\n")
                    quiet_since = monotonic()
                await asyncio.sleep(POLL_SECONDS)
        finally:
            self._broadcast(None)  # whatever ended it: who listens to nothing must come again

    async def _poll(self) -> bool:
        """Tell what changed since the last look; false where nothing did."""
        previous, current = self._snapshots, await asyncio.to_thread(snapshot_runs, self._runs)
        self._snapshots = current
        messages = HELLO if previous is None else b"".join(changes(previous, current))
        if messages:
            self._broadcast(messages)
        return bool(messages)


def snapshot_runs(runs: RunService) -> dict[str, RunSnapshot]:
    """The runs of the workspace that may change, and those that are new."""
    return {row.run_id: _snapshot(row) for row in runs.newest(MAX_NEWEST)}


def changes(previous: Mapping[str, RunSnapshot], current: Mapping[str, RunSnapshot]) -> list[bytes]:
    """What to tell of two looks; a run that is not among the newest any more has not changed by that."""
    messages: list[bytes] = []
    for run_id, snapshot in current.items():
        earlier = previous.get(run_id)
        if earlier == snapshot:
            continue
        messages.append(
            encode_message("run_changed", {"run_id": run_id, "status": snapshot.status, "last_seq": snapshot.last_seq})
        )
        if snapshot.pending != (earlier.pending if earlier else 0):
            messages.append(encode_message("approval_changed", {"run_id": run_id, "pending": snapshot.pending}))
    return messages


def encode_message(event: str, data: Mapping[str, object]) -> bytes:
    """One message of a stream; it has no id, for whoever comes again asks for the lists anew."""
    return b"event: %b\ndata: %b\n\n" % (event.encode(), msgspec.json.encode(data))


def _snapshot(row: RunRow) -> RunSnapshot:
    return RunSnapshot(row.status.value, row.last_seq, row.pending_approvals)


HELLO = encode_message("hello", {})
"""Whoever reads it and then looks at the lists misses nothing."""
