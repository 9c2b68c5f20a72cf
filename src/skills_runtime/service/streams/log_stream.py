"""Streams of followed logs: one reader per log, shared by all listeners, with recent frames in bounded memory."""

import asyncio
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import NamedTuple, Protocol

from skills_runtime.engine import BATCH_BYTES, Frame, LogTail
from skills_runtime.errors import Busy, RequestConflict, SkillsRuntimeError
from skills_runtime.events import Event
from skills_runtime.runs import RunPaths

RECENT_BYTES = 1 << 20
"""How much of a log is kept in memory; listeners further behind read the file."""
POLL_SECONDS = 0.1
"""Maximum delay of lines that another process writes; those of this process are announced at once."""
HEARTBEAT_SECONDS = 15.0
SECONDS_PER_LISTENER = 0.0005
"""Pause per served listener: about ten times the cost, so that listeners use at most a tenth of a CPU."""
MAX_ROUND_SECONDS = 0.5
"""Maximum time until every listener has been served once."""
SLICE_SIZE = 8
"""Listeners served at once, which bounds how long other tasks, especially runs, are blocked."""
MAX_LISTENERS = 10_000


class Batch(NamedTuple):
    """Consecutive frames as bytes to send."""

    data: bytes
    next_seq: int
    is_last: bool


class RecentFrames:
    """Frames from `first` up to, but not including, `next_seq`."""

    def __init__(self, first: int, *, limit: int = RECENT_BYTES) -> None:
        self.first = self.next_seq = first
        self._limit = limit
        self._frames: deque[Frame] = deque()
        self._bytes = 0
        self._batches: dict[int, Batch] = {}

    def add(self, frames: Iterable[Frame]) -> None:
        """Add frames and drop the oldest beyond the limit."""
        self._batches.clear()
        for frame in frames:
            self._frames.append(frame)
            self._bytes += len(frame.text)
            self.next_seq = frame.seq + 1
        while self._bytes > self._limit and len(self._frames) > 1:
            dropped = self._frames.popleft()
            self._bytes -= len(dropped.text)
            self.first = dropped.seq + 1

    def since(self, seq: int) -> Batch | None:
        """Return the frames from `seq` on, possibly none; `None` if they have been dropped already."""
        if seq < self.first:
            return None
        if seq >= self.next_seq:
            return Batch(b"", seq, is_last=False)
        batch = self._batches.get(seq)
        if batch is None:
            batch = self._batches[seq] = self._build_batch(seq)
        return batch

    def _build_batch(self, seq: int) -> Batch:
        texts: list[bytes] = []
        remaining = BATCH_BYTES
        frame = self._frames[0]
        for frame in islice(self._frames, seq - self.first, None):
            texts.append(frame.text)
            remaining -= len(frame.text)
            if remaining <= 0:
                break
        return Batch(b"".join(texts), frame.seq + 1, frame.is_last)


class LogStream:
    """Read a log as it grows, as long as there are listeners.

    Waiting listeners are served in order, a few at a time: the log is read between two slices, so that a run is never
    slowed down by a thousand listeners at once.
    """

    def __init__(self, tail: LogTail) -> None:
        self._tail = tail
        self._recent = RecentFrames(tail.seq)
        self._waiting: dict[asyncio.Future[bool], int] = {}
        """Waiting listeners and the number of the event that each waits for."""
        self._wake = asyncio.Event()
        self.is_idle = False
        """Whether the log is only read after a notification or the polling interval."""
        self.listeners = 0
        self.is_over = False
        """Whether there will be no more events: the run has ended, or the log cannot be read."""
        self._quiet_since = monotonic()
        self._work = asyncio.create_task(self._run(), name="log reader")

    def since(self, seq: int) -> Batch | None:
        """Return the frames from `seq` on; `None` if they must be read from the file."""
        return self._recent.since(seq)

    def wake(self) -> None:
        """Read the log now."""
        self._wake.set()

    async def wait_for(self, seq: int) -> bool:
        """Wait for event `seq` and return true; return false when a heartbeat is due."""
        future = asyncio.get_running_loop().create_future()
        self._waiting[future] = seq
        try:
            return await future
        finally:
            self._waiting.pop(future, None)

    def cancel(self) -> None:
        """Stop reading because there are no listeners."""
        self._work.cancel()

    async def close(self) -> None:
        """Stop reading and wake all waiting listeners."""
        self._work.cancel()
        await asyncio.wait([self._work])

    async def _run(self) -> None:
        try:
            while True:
                self._read()
                woken_count = self._wake_waiting()
                if woken_count:
                    await asyncio.sleep(self._pause(woken_count))
                elif self._tail.ended:
                    return
                elif monotonic() - self._quiet_since >= HEARTBEAT_SECONDS:
                    await self._send_heartbeats()
                elif self.is_idle:
                    await self._wait_idle()
                else:
                    await asyncio.sleep(self._pause(1))  # all listeners are busy with earlier events
        except (SkillsRuntimeError, OSError):
            return  # clients that reconnect get the error
        finally:
            self.is_over = True
            self._tail.close()
            for future in tuple(self._waiting):
                _resolve(future, has_events=True)

    def _read(self) -> None:
        """Read new lines."""
        # Clear before reading: what is written in between is not missed.
        self._wake.clear()
        self.is_idle = True
        frames = self._tail.read()
        if frames:
            self.is_idle = False
            self._recent.add(frames)
            self._quiet_since = monotonic()

    def _wake_waiting(self) -> int:
        """Wake the first waiting listeners whose events are available; return how many."""
        next_seq = self._recent.next_seq
        woken = tuple(islice((future for future, seq in self._waiting.items() if seq < next_seq), SLICE_SIZE))
        for future in woken:
            del self._waiting[future]
            _resolve(future, has_events=True)
        return len(woken)

    def _pause(self, count: int) -> float:
        return count * min(SECONDS_PER_LISTENER, MAX_ROUND_SECONDS / max(self.listeners, 1))

    async def _wait_idle(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(POLL_SECONDS):
                await self._wake.wait()

    async def _send_heartbeats(self) -> None:
        """Wake all waiting listeners for a heartbeat."""
        self._quiet_since = monotonic()
        waiting = tuple(self._waiting)
        for start in range(0, len(waiting), SLICE_SIZE):
            for future in waiting[start : start + SLICE_SIZE]:
                _resolve(future, has_events=False)
            await asyncio.sleep(self._pause(SLICE_SIZE))
        await asyncio.sleep(0)


def _resolve(future: "asyncio.Future[bool]", *, has_events: bool) -> None:
    if not future.done():
        future.set_result(has_events)


class StreamRegistry(Protocol):
    """Shares one stream per log."""

    def join(self, root: Path, tail: LogTail) -> LogStream:
        """Return the stream of a log; it takes over the tail, or closes it if a stream exists."""
        ...

    def leave(self, stream: LogStream | None) -> None:
        """Unregister a listener."""
        ...


class Listener:
    """Receive every event from `from_seq` on exactly once; a slow listener reads the file again."""

    def __init__(self, paths: RunPaths, from_seq: int, registry: StreamRegistry) -> None:
        self._paths = paths
        self._seq = from_seq
        self._registry: StreamRegistry | None = registry
        self._tail: LogTail | None = LogTail(paths, from_seq=from_seq)
        self._stream: LogStream | None = None
        self.is_over = False
        """Whether there are no more events."""
        try:
            self._ready = self._read_batch(self._tail)
        except BaseException:
            self._tail.close()
            raise
        if self._tail.seq < from_seq:
            self._tail.close()
            raise RequestConflict(
                f"the log has no event {from_seq - 1} yet", hint="reconnect without `Last-Event-ID` or `after`"
            )

    @property
    def is_exhausted(self) -> bool:
        """Whether the run has ended and the client has seen every event."""
        return self._ready is None and self._tail is not None and self._tail.ended

    async def next(self) -> bytes:
        """Return the next messages; empty means heartbeat, or the end if `is_over` is set."""
        ready, self._ready = self._ready, None
        while ready is None and not self.is_over:
            if self._tail is not None:
                ready = self._read_batch(self._tail)
                if ready is None:
                    self._join_stream(self._tail)
            elif self._stream is None:
                self.is_over = True
            else:
                batch = self._stream.since(self._seq)
                if batch is None:
                    self._tail = LogTail(self._paths, from_seq=self._seq)
                elif batch.data:
                    ready = batch
                elif self._stream.is_over:
                    self.is_over = True
                elif not await self._stream.wait_for(self._seq):
                    return b""
        return self._advance(ready)

    def close(self) -> None:
        """Stop listening; may be called repeatedly."""
        if self._tail is not None:
            self._tail.close()
            self._tail = None
        if self._registry is not None:
            self._registry.leave(self._stream)
            self._registry = self._stream = None

    def _join_stream(self, tail: LogTail) -> None:
        """Switch from the file to the shared stream; at the end of a finished log there is nothing left."""
        self._tail = None
        if tail.ended:
            tail.close()
            self.is_over = True
        elif self._stream is None and self._registry is not None:
            self._stream = self._registry.join(self._paths.root, tail)
        else:
            tail.close()

    def _read_batch(self, tail: LogTail) -> Batch | None:
        frames = tail.read()
        if not frames:
            return None
        return Batch(b"".join(frame.text for frame in frames), frames[-1].seq + 1, frames[-1].is_last)

    def _advance(self, batch: Batch | None) -> bytes:
        if batch is None:
            return b""
        self._seq, self.is_over = batch.next_seq, batch.is_last
        return batch.data


class Streams:
    """One stream for each followed log, from its first to its last listener."""

    def __init__(self, *, max_listeners: int = MAX_LISTENERS) -> None:
        self._by_root: dict[Path, LogStream] = {}
        self._by_run: dict[str, LogStream] = {}
        self._loop = asyncio.get_running_loop()
        self._max = max_listeners
        self._closed = False
        self.listeners = 0
        """Number of listeners."""

    @property
    def readers(self) -> int:
        """Number of logs that are being read."""
        return len(self._by_root)

    @property
    def is_closed(self) -> bool:
        """Whether all streams have ended because the service stops."""
        return self._closed

    def listen(self, paths: RunPaths, *, from_seq: int = 0) -> Listener:
        """Return a listener for a log; the caller closes it."""
        if self._closed or self.listeners >= self._max:
            raise Busy("no more event streams are available")
        listener = Listener(paths, from_seq, self)
        self.listeners += 1
        return listener

    def notify(self, event: Event) -> None:
        """Notify the listeners of a run in this process of a new event; thread-safe."""
        stream = self._by_run.get(event.run_id)
        if stream is not None and stream.is_idle:
            with suppress(RuntimeError):  # the loop is closed and there are no listeners; the run continues
                self._loop.call_soon_threadsafe(stream.wake)

    async def close(self) -> None:
        """End all streams; clients reconnect, to this service or the next."""
        self._closed = True
        await asyncio.gather(*(stream.close() for stream in tuple(self._by_root.values())))

    def join(self, root: Path, tail: LogTail) -> LogStream:
        """Return the stream of a log; it takes over the tail, or closes it if a stream exists."""
        if self._closed:
            tail.close()
            raise Busy("no more event streams are available")
        stream = self._by_root.get(root)
        if stream is None or stream.is_over:
            stream = self._by_root[root] = self._by_run[tail.run_id] = LogStream(tail)
        else:
            tail.close()
        stream.listeners += 1
        return stream

    def leave(self, stream: LogStream | None) -> None:
        """Unregister a listener; the log is no longer read after the last one."""
        self.listeners -= 1
        if stream is None:
            return
        stream.listeners -= 1
        if stream.listeners == 0:
            self._by_root = {root: other for root, other in self._by_root.items() if other is not stream}
            self._by_run = {name: other for name, other in self._by_run.items() if other is not stream}
            stream.cancel()
