"""The feed of changes to all runs of a workspace: one poll of the index for all readers."""

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
"""Maximum delay of a change."""
HEARTBEAT_SECONDS = 15.0
MAX_NEWEST = 300
"""Number of newest runs that are watched, besides all that are waiting or running."""
MAX_LISTENERS = 1_000
MAX_QUEUED = 1_000
"""Queue limit of a slow client; beyond it the client is disconnected and has to reconnect."""


class RunSnapshot(NamedTuple):
    """The fields of a run that are compared to detect changes."""

    status: str
    last_seq: int
    pending: int


class Reader:
    """One client of the feed, with its queue of messages."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[bytes | None] = asyncio.Queue(MAX_QUEUED)

    def send(self, message: bytes | None) -> None:
        """Queue a message; disconnect the client if its queue is full."""
        try:
            self.queue.put_nowait(message)
        except asyncio.QueueFull:
            while not self.queue.empty():
                self.queue.get_nowait()
            self.queue.put_nowait(None)


class Feed:
    """Polls the index while there are readers, and sends them the changes."""

    def __init__(self, runs: RunService, is_stopping: Callable[[], bool] = bool) -> None:
        self._runs = runs
        self._is_stopping = is_stopping
        self._readers: set[Reader] = set()
        self._task: asyncio.Task[None] | None = None
        self._snapshots: Mapping[str, RunSnapshot] | None = None

    def listen(self) -> Reader:
        """Add a reader; it receives all changes after the hello message."""
        if len(self._readers) >= MAX_LISTENERS or self._is_stopping():
            raise Busy("the maximum number of feed listeners is reached")
        reader = Reader()
        self._readers.add(reader)
        if self._snapshots is not None:
            reader.send(HELLO)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch(), name="feed")
        return reader

    def leave(self, reader: Reader) -> None:
        """Remove a reader; polling stops with the last one."""
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
                with suppress(SkillsRuntimeError):  # the index is busy: try again at the next poll
                    if await self._poll():
                        quiet_since = monotonic()
                if monotonic() - quiet_since >= HEARTBEAT_SECONDS:
                    self._broadcast(b": alive\n\n")
                    quiet_since = monotonic()
                await asyncio.sleep(POLL_SECONDS)
        finally:
            self._broadcast(None)  # always end the streams, so that clients reconnect

    async def _poll(self) -> bool:
        """Send what changed since the last poll; return whether anything did."""
        previous, current = self._snapshots, await asyncio.to_thread(snapshot_runs, self._runs)
        self._snapshots = current
        messages = HELLO if previous is None else b"".join(changes(previous, current))
        if messages:
            self._broadcast(messages)
        return bool(messages)


def snapshot_runs(runs: RunService) -> dict[str, RunSnapshot]:
    """Return snapshots of the open and the newest runs of the workspace."""
    return {row.run_id: _snapshot(row) for row in runs.newest(MAX_NEWEST)}


def changes(previous: Mapping[str, RunSnapshot], current: Mapping[str, RunSnapshot]) -> list[bytes]:
    """Return the messages for the differences; a run that left the list of newest runs has not changed."""
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
    """Encode one message; it has no id, because clients reload the lists after reconnecting."""
    return b"event: %b\ndata: %b\n\n" % (event.encode(), msgspec.json.encode(data))


def _snapshot(row: RunRow) -> RunSnapshot:
    return RunSnapshot(row.status.value, row.last_seq, row.pending_approvals)


HELLO = encode_message("hello", {})
"""A client that loads the lists after this message misses no change."""
