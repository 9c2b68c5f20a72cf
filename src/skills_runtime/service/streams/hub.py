"""All logs that are followed now."""

import asyncio
from contextlib import suppress
from pathlib import Path

from skills_runtime.errors import Busy
from skills_runtime.events import Event
from skills_runtime.runs import RunPaths
from skills_runtime.service.streams.listener import Listener
from skills_runtime.service.streams.stream import LogStream
from skills_runtime.service.streams.tail import LogTail

MAX_LISTENERS = 10_000


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
    def closed(self) -> bool:
        """Whether all streams were ended, because the service stops."""
        return self._closed

    def listen(self, paths: RunPaths, *, from_seq: int = 0) -> Listener:
        """Somebody who follows a log; to be closed."""
        if self._closed or self.listeners >= self._max:
            raise Busy("no more streams of events are served now")
        listener = Listener(paths, from_seq, self)
        self.listeners += 1
        return listener

    def heard(self, event: Event) -> None:
        """Tell those who follow a run of this process that it went on; from any thread."""
        stream = self._by_run.get(event.run_id)
        if stream is not None and stream.resting:
            with suppress(RuntimeError):  # nobody listens any more when the loop is closed, and the run goes on
                self._loop.call_soon_threadsafe(stream.stir)

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
            self._by_root = {root: one for root, one in self._by_root.items() if one is not stream}
            self._by_run = {name: one for name, one in self._by_run.items() if one is not stream}
            stream.abandon()
