"""Writes to the streams of this process from a thread of its own, so that a reader who waits holds nothing else up."""

import asyncio
import os
import select
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from queue import SimpleQueue

from skills_runtime.processes import Stream

MOST_WAITING = 1 << 20
"""Bytes that may wait for whoever reads; beyond them the command is made to wait."""
NUMBERS: Mapping[Stream, int] = {"stdout": 1, "stderr": 2}


class Outlet:
    """What may still be written, and what waits to be; made and used by the task that runs the command."""

    def __init__(
        self, allowed: int | None, *, broken: Callable[[], object], numbers: Mapping[Stream, int] = NUMBERS
    ) -> None:
        self._left = allowed
        self._numbers = numbers
        self._broken = broken
        self._loop = asyncio.get_running_loop()
        self._pieces: SimpleQueue[tuple[int, bytes]] = SimpleQueue()
        self._waiting = 0
        self._begun = False
        self._failure: OSError | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self.room = asyncio.Event()
        """Set while more can be taken."""
        self.room.set()

    def write(self, stream: Stream, data: bytes) -> None:
        """Take more to write, in order; raises `OSError` when an earlier piece could not be written."""
        self.check()
        if self._left is not None:
            data = data[: self._left]
            self._left -= len(data)
        if not data:
            return
        if not self._begun:
            self._begun = True
            # Writing may block for ever; then this process ends without waiting for it.
            threading.Thread(target=self._work, daemon=True).start()
        self._waiting += len(data)
        self._idle.clear()
        if self._waiting > MOST_WAITING:
            self.room.clear()
        self._pieces.put((self._numbers[stream], data))

    def check(self) -> None:
        """Raise what went wrong with writing, if something did."""
        if self._failure is not None:
            raise self._failure

    async def finish(self, stop: asyncio.Event) -> None:
        """Wait until everything is written, or cannot be, or nobody wants to wait any more."""
        waits = [asyncio.ensure_future(event.wait()) for event in (self._idle, stop)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waits:
                one.cancel()

    def _work(self) -> None:
        while True:
            number, data = self._pieces.get()
            failure: OSError | None = None
            try:
                _write_all(number, data)
            except OSError as error:
                failure = error
            with suppress(RuntimeError):  # nobody waits any more
                self._loop.call_soon_threadsafe(self._written, len(data), failure)

    def _written(self, size: int, failure: OSError | None) -> None:
        self._waiting -= size
        if failure is not None and self._failure is None:
            self._failure = failure
            self._broken()
        if self._waiting <= MOST_WAITING:
            self.room.set()
        if not self._waiting or self._failure is not None:
            self._idle.set()


def _write_all(number: int, data: bytes) -> None:
    """Write all of it, also where the descriptor was given to this process as one that never blocks."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(number, rest) :]
        except BlockingIOError:
            poll = select.poll()
            poll.register(number, select.POLLOUT)
            poll.poll()
