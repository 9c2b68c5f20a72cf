"""Non-blocking readers and writers for descriptors, independent so that a slow one delays no other.

The code that opened a descriptor closes it, after its reader and writer are stopped.
"""

import asyncio
import fcntl
import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress

CHUNK_BYTES = 1 << 16
CHUNKS_PER_TURN = 16
"""Chunks written before the event loop gets a turn."""

MIN_DRAIN_BYTES = 1 << 20
"""More than a terminal buffers."""


class Reader:
    """Passes on each chunk of a pipe, socket or terminal as it arrives."""

    def __init__(
        self, descriptor: int, receive: Callable[[bytes], None], *, on_end: Callable[[], None] = lambda: None
    ) -> None:
        self._descriptor = descriptor
        self._receive = receive
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._stopped = False
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._ready)

    def _ready(self) -> None:
        piece = self._read(CHUNK_BYTES)
        if piece:
            self._receive(piece)
        elif piece is not None:
            self.stop()
            self._on_end()

    def _read(self, size: int) -> bytes | None:
        """Return the next chunk; empty at the end, None if there is none yet."""
        try:
            return os.read(self._descriptor, size)
        except BlockingIOError:
            return None
        except OSError:  # a terminal whose other side is closed
            return b""

    def drain(self) -> Iterator[bytes]:
        """Yield the chunks that are already buffered, without waiting for more."""
        # Another process may hold the write end and never stop: at most one full buffer is the command's.
        remaining = MIN_DRAIN_BYTES
        with suppress(OSError):  # not a pipe
            remaining = max(remaining, fcntl.fcntl(self._descriptor, fcntl.F_GETPIPE_SZ))
        while remaining > 0 and (piece := self._read(min(remaining, CHUNK_BYTES))):
            remaining -= len(piece)
            yield piece

    def stop(self) -> None:
        """Stop reading; call it before the descriptor is closed, because its number may be reused."""
        self._stopped = True
        self._loop.remove_reader(self._descriptor)

    def pause(self) -> None:
        """Stop reading until `resume`."""
        if not self._stopped:
            self._loop.remove_reader(self._descriptor)

    def resume(self) -> None:
        """Read again, unless the end was reached."""
        if not self._stopped:
            self._loop.add_reader(self._descriptor, self._ready)


class Writer:
    """Writes data in order, as fast as the other side reads it."""

    def __init__(self, descriptor: int, *, on_drained: Callable[[], None] = lambda: None) -> None:
        self._descriptor = descriptor
        self._on_drained = on_drained
        self._queue: deque[memoryview] = deque()
        self._loop = asyncio.get_running_loop()
        self._waiting = False
        self._broken = False
        self.written = 0
        """Number of bytes that the other side has accepted."""
        os.set_blocking(descriptor, False)

    @property
    def pending(self) -> int:
        """Number of bytes that are not written yet."""
        return sum(map(len, self._queue))

    def send(self, data: bytes) -> None:
        """Queue data behind everything sent before; drop it if the reader is gone."""
        if data and not self._broken:
            self._queue.append(memoryview(data))
        if not self._waiting:
            self._ready()

    def discard(self) -> None:
        """Drop the pending data and stop using the descriptor."""
        self._queue.clear()
        self._watch_writable(enabled=False)

    def _ready(self) -> None:
        try:
            for _ in range(CHUNKS_PER_TURN):
                if self._queue:
                    self._write_chunk()
        except BlockingIOError:
            self._watch_writable(enabled=True)
            return
        except OSError:  # the reader has closed its end
            self._broken = True
            self._queue.clear()
        self._watch_writable(enabled=bool(self._queue))
        if not self._queue:
            self._on_drained()

    def _write_chunk(self) -> None:
        size = os.write(self._descriptor, self._queue[0][:CHUNK_BYTES])
        self.written += size
        self._queue[0] = self._queue[0][size:]
        if not self._queue[0]:
            self._queue.popleft()

    def _watch_writable(self, *, enabled: bool) -> None:
        if enabled and not self._waiting:
            self._loop.add_writer(self._descriptor, self._ready)
        elif self._waiting and not enabled:
            self._loop.remove_writer(self._descriptor)
        self._waiting = enabled
