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

LOOK_SECONDS = 0.5
"""How late a change is told."""
BEAT_SECONDS = 15.0
NEWEST = 300
"""How many of the newest runs are watched, besides all that wait or are under way."""
MAX_LISTENERS = 1_000
MAX_WAITING = 1_000
"""Messages that a slow client may have open; it is cut off at one more, and comes again."""


class Seen(NamedTuple):
    """What is remembered of a run, to notice when it changes."""

    status: str
    last_seq: int
    pending: int


class Reader:
    """One who listens; its messages wait here until they are sent."""

    def __init__(self) -> None:
        self.waiting: asyncio.Queue[bytes | None] = asyncio.Queue(MAX_WAITING)

    def tell(self, message: bytes | None) -> None:
        """Leave a message; whoever does not read is cut off instead."""
        try:
            self.waiting.put_nowait(message)
        except asyncio.QueueFull:
            while not self.waiting.empty():
                self.waiting.get_nowait()
            self.waiting.put_nowait(None)


class Feed:
    """Looks at the index while anybody listens, and tells them what changed."""

    def __init__(self, runs: RunService, is_stopping: Callable[[], bool] = bool) -> None:
        self._runs = runs
        self._is_stopping = is_stopping
        self._readers: set[Reader] = set()
        self._task: asyncio.Task[None] | None = None
        self._known: Mapping[str, Seen] | None = None

    def listen(self) -> Reader:
        """Somebody new, to be left; from its greeting on it is told of everything."""
        if len(self._readers) >= MAX_LISTENERS or self._is_stopping():
            raise Busy("no more listeners are served now")
        reader = Reader()
        self._readers.add(reader)
        if self._known is not None:
            reader.tell(HELLO)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch(), name="feed")
        return reader

    def leave(self, reader: Reader) -> None:
        """Somebody stopped listening; for nobody nothing is looked at."""
        self._readers.discard(reader)
        if not self._readers and self._task is not None:
            self._task.cancel()
            self._task = self._known = None

    def _tell(self, message: bytes | None) -> None:
        for reader in tuple(self._readers):
            reader.tell(message)

    async def _watch(self) -> None:
        quiet_since = monotonic()
        try:
            while not self._is_stopping():
                with suppress(SkillsRuntimeError):  # an index that is busy is looked at the next time
                    if await self._look():
                        quiet_since = monotonic()
                if monotonic() - quiet_since >= BEAT_SECONDS:
                    self._tell(b": alive\n\n")
                    quiet_since = monotonic()
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            self._tell(None)  # whatever ended it: who listens to nothing must come again

    async def _look(self) -> bool:
        """Tell what changed since the last look; false where nothing did."""
        before, found = self._known, await asyncio.to_thread(seen_now, self._runs)
        self._known = found
        messages = HELLO if before is None else b"".join(changes(before, found))
        if messages:
            self._tell(messages)
        return bool(messages)


def seen_now(runs: RunService) -> dict[str, Seen]:
    """The runs of the workspace that may change, and those that are new."""
    return {row.run_id: _seen(row) for row in runs.newest(NEWEST)}


def changes(before: Mapping[str, Seen], now: Mapping[str, Seen]) -> list[bytes]:
    """What to tell of two looks; a run that is not among the newest any more has not changed by that."""
    told: list[bytes] = []
    for run_id, seen in now.items():
        known = before.get(run_id)
        if known == seen:
            continue
        told.append(message("run_changed", {"run_id": run_id, "status": seen.status, "last_seq": seen.last_seq}))
        if seen.pending != (known.pending if known else 0):
            told.append(message("approval_changed", {"run_id": run_id, "pending": seen.pending}))
    return told


def message(event: str, data: Mapping[str, object]) -> bytes:
    """One message of a stream; it has no id, for whoever comes again asks for the lists anew."""
    return b"event: %b\ndata: %b\n\n" % (event.encode(), msgspec.json.encode(data))


def _seen(row: RunRow) -> Seen:
    return Seen(row.status.value, row.last_seq, row.pending_approvals)


HELLO = message("hello", {})
"""Whoever reads it and then looks at the lists misses nothing."""
