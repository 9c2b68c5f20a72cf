"""Logs that are followed: one reader for each, however many follow it, and the newest frames in bounded memory."""

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
"""How much of a log is kept; who is further behind reads the file."""
POLL_SECONDS = 0.1
"""How late a line is seen that another process wrote; those of this process are told at once."""
HEARTBEAT_SECONDS = 15.0
SECONDS_PER_LISTENER = 0.0005
"""Serving somebody costs about a tenth of this, so listeners never take more than that part of a processor."""
MAX_ROUND_SECONDS = 0.5
"""How long somebody waits at most until everybody else was served once."""
SLICE_SIZE = 8
"""How many are served at once, which keeps whatever else is going on, runs above all, waiting for a moment."""
MAX_LISTENERS = 10_000


class Batch(NamedTuple):
    """Frames that follow each other, as bytes to send."""

    data: bytes
    next_seq: int
    is_last: bool


class RecentFrames:
    """Frames from `first` up to, not including, `next_seq`."""

    def __init__(self, first: int, *, limit: int = RECENT_BYTES) -> None:
        self.first = self.next_seq = first
        self._limit = limit
        self._frames: deque[Frame] = deque()
        self._bytes = 0
        self._batches: dict[int, Batch] = {}

    def add(self, frames: Iterable[Frame]) -> None:
        """Take in what was read; the oldest give way."""
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
        """What follows `seq`, itself included, perhaps nothing; None when that is not kept any more."""
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
    """Reads a log as it grows, for as long as anybody listens.

    Those who wait are served in the order in which they came, a few at a time and evenly: the log is read on between
    two slices, and a run never meets a thousand listeners at once.
    """

    def __init__(self, tail: LogTail) -> None:
        self._tail = tail
        self._recent = RecentFrames(tail.seq)
        self._waiting: dict[asyncio.Future[bool], int] = {}
        """All who wait for news, and the number of the event each of them wants."""
        self._wake = asyncio.Event()
        self.is_idle = False
        """Whether the log is looked at only when somebody says so, or after a while."""
        self.listeners = 0
        self.over = False
        """Whether nothing will come any more: the run has ended, or the log cannot be read."""
        self._quiet_since = monotonic()
        self._work = asyncio.create_task(self._run(), name="log reader")

    def since(self, seq: int) -> Batch | None:
        """What is known from `seq` on; None when it must be read from the file."""
        return self._recent.since(seq)

    def wake(self) -> None:
        """Look at the log now."""
        self._wake.set()

    async def wait_for(self, seq: int) -> bool:
        """Wait until `seq` has come, or, when it is false, until it is time for a sign of life."""
        future = asyncio.get_running_loop().create_future()
        self._waiting[future] = seq
        try:
            return await future
        finally:
            self._waiting.pop(future, None)

    def cancel(self) -> None:
        """Stop reading, for nobody listens any more."""
        self._work.cancel()

    async def close(self) -> None:
        """Stop reading; everybody who waits learns that it is over."""
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
                    await asyncio.sleep(self._pause(1))  # everybody is busy with what came before
        except (SkillsRuntimeError, OSError):
            return  # who comes again is told why
        finally:
            self.over = True
            self._tail.close()
            for future in tuple(self._waiting):
                _resolve(future, has_events=True)

    def _read(self) -> None:
        """Take in what has been written."""
        # Said before the log is looked at: what is written in between is not overlooked.
        self._wake.clear()
        self.is_idle = True
        frames = self._tail.read()
        if frames:
            self.is_idle = False
            self._recent.add(frames)
            self._quiet_since = monotonic()

    def _wake_waiting(self) -> int:
        """Tell some of those who wait for what is there, the first who came first; how many that were."""
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
        """Give everybody who waits a sign of life."""
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
    """Where those who follow logs meet."""

    def join(self, root: Path, tail: LogTail) -> LogStream:
        """The stream of a log; the tail is read on for it, or closed where another one is."""
        ...

    def leave(self, stream: LogStream | None) -> None:
        """Somebody stopped listening."""
        ...


class Listener:
    """Gets every event from `from_seq` on exactly once; whoever falls far behind reads the file again."""

    def __init__(self, paths: RunPaths, from_seq: int, registry: StreamRegistry) -> None:
        self._paths = paths
        self._seq = from_seq
        self._registry: StreamRegistry | None = registry
        self._tail: LogTail | None = LogTail(paths, from_seq=from_seq)
        self._stream: LogStream | None = None
        self.over = False
        """Whether nothing follows what was handed out."""
        try:
            self._ready = self._read_batch(self._tail)
        except BaseException:
            self._tail.close()
            raise
        if self._tail.seq < from_seq:
            self._tail.close()
            raise RequestConflict(
                f"the log has no event {from_seq - 1} yet", hint="follow it again without `Last-Event-ID` or `after`"
            )

    @property
    def is_exhausted(self) -> bool:
        """Whether the run has ended and everything of it was seen before."""
        return self._ready is None and self._tail is not None and self._tail.ended

    async def next(self) -> bytes:
        """The next messages; no bytes are a sign of life, or the end when it is `over`."""
        ready, self._ready = self._ready, None
        while ready is None and not self.over:
            if self._tail is not None:
                ready = self._read_batch(self._tail)
                if ready is None:
                    self._join_stream(self._tail)
            elif self._stream is None:
                self.over = True
            else:
                batch = self._stream.since(self._seq)
                if batch is None:
                    self._tail = LogTail(self._paths, from_seq=self._seq)
                elif batch.data:
                    ready = batch
                elif self._stream.over:
                    self.over = True
                elif not await self._stream.wait_for(self._seq):
                    return b""
        return self._advance(ready)

    def close(self) -> None:
        """Stop listening; harmless when repeated."""
        if self._tail is not None:
            self._tail.close()
            self._tail = None
        if self._registry is not None:
            self._registry.leave(self._stream)
            self._registry = self._stream = None

    def _join_stream(self, tail: LogTail) -> None:
        """Go on with everybody else; whoever follows the end of an ended log has seen all."""
        self._tail = None
        if tail.ended:
            tail.close()
            self.over = True
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
        self._seq, self.over = batch.next_seq, batch.is_last
        return batch.data


class Streams:
    """One stream for each log somebody follows, from the first who comes to the last who leaves."""

    def __init__(self, *, max_listeners: int = MAX_LISTENERS) -> None:
        self._by_root: dict[Path, LogStream] = {}
        self._by_run: dict[str, LogStream] = {}
        self._loop = asyncio.get_running_loop()
        self._max = max_listeners
        self._closed = False
        self.listeners = 0
        """How many follow a log now."""

    @property
    def readers(self) -> int:
        """How many logs are read for them."""
        return len(self._by_root)

    @property
    def is_closed(self) -> bool:
        """Whether all streams were ended, because the service stops."""
        return self._closed

    def listen(self, paths: RunPaths, *, from_seq: int = 0) -> Listener:
        """Somebody who follows a log; to be closed."""
        if self._closed or self.listeners >= self._max:
            raise Busy("no more streams of events are served now")
        listener = Listener(paths, from_seq, self)
        self.listeners += 1
        return listener

    def notify(self, event: Event) -> None:
        """Tell those who follow a run of this process that it went on; from any thread."""
        stream = self._by_run.get(event.run_id)
        if stream is not None and stream.is_idle:
            with suppress(RuntimeError):  # nobody listens any more when the loop is closed, and the run goes on
                self._loop.call_soon_threadsafe(stream.wake)

    async def close(self) -> None:
        """End all streams; clients come again, to this service or to the next."""
        self._closed = True
        await asyncio.gather(*(stream.close() for stream in tuple(self._by_root.values())))

    def join(self, root: Path, tail: LogTail) -> LogStream:
        """The stream of a log; the tail is read on for it, or closed where another one is."""
        if self._closed:
            tail.close()
            raise Busy("no more streams of events are served now")
        stream = self._by_root.get(root)
        if stream is None or stream.over:
            stream = self._by_root[root] = self._by_run[tail.run_id] = LogStream(tail)
        else:
            tail.close()
        stream.listeners += 1
        return stream

    def leave(self, stream: LogStream | None) -> None:
        """Somebody stopped listening; nobody is left to read a log for, then it is not read."""
        self.listeners -= 1
        if stream is None:
            return
        stream.listeners -= 1
        if stream.listeners == 0:
            self._by_root = {root: other for root, other in self._by_root.items() if other is not stream}
            self._by_run = {name: other for name, other in self._by_run.items() if other is not stream}
            stream.cancel()
