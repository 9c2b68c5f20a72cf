"""One log that is followed: one reader, and all who wait for it."""

import asyncio
from contextlib import suppress
from time import monotonic

from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.service.streams.recent import Batch, Recent
from skills_runtime.service.streams.tail import LogTail

LOOK_SECONDS = 0.1
"""How late a line is seen that another process wrote; those of this process are told at once."""
BEAT_SECONDS = 15.0
SECONDS_PER_LISTENER = 0.0005
"""Waking somebody costs about a fifth of this at most, so listeners never take more than that part of a processor."""
LONGEST_PAUSE = 0.5
SLICE = 5
"""How many are woken before whatever else is going on, runs above all, has its turn."""


class LogStream:
    """Reads a log as it grows, for as long as anybody listens."""

    def __init__(self, tail: LogTail) -> None:
        self._tail = tail
        self._recent = Recent(tail.seq)
        self._waiting: set[asyncio.Future[bool]] = set()
        self._stirred = asyncio.Event()
        self.listeners = 0
        self.over = False
        """Whether nothing will come any more: the run has ended, or the log cannot be read."""
        self._work = asyncio.create_task(self._read(), name="log reader")

    def since(self, seq: int) -> Batch | None:
        """What is known from `seq` on; None when it must be read from the file."""
        return self._recent.since(seq)

    def stir(self) -> None:
        """Look at the log now."""
        self._stirred.set()

    async def news(self) -> bool:
        """Wait until something has come, or, when it is false, until it is time for a sign of life."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            return await future
        finally:
            self._waiting.discard(future)

    def abandon(self) -> None:
        """Stop reading, for nobody listens any more."""
        self._work.cancel()

    async def close(self) -> None:
        """Stop reading; everybody who waits learns that it is over."""
        self._work.cancel()
        await asyncio.wait([self._work])

    async def _read(self) -> None:
        quiet_since = monotonic()
        try:
            while not self._tail.ended:
                frames = self._tail.read()
                if frames:
                    self._recent.add(frames)
                    quiet_since = monotonic()
                    await self._wake(news=True)
                    await asyncio.sleep(min(self.listeners * SECONDS_PER_LISTENER, LONGEST_PAUSE))
                elif monotonic() - quiet_since >= BEAT_SECONDS:
                    quiet_since = monotonic()
                    await self._wake(news=False)
                else:
                    await self._rest()
        except (SkillsRuntimeError, OSError):
            return  # who comes again is told why
        finally:
            self.over = True
            self._tail.close()
            for future in tuple(self._waiting):
                _tell(future, news=True)

    async def _rest(self) -> None:
        self._stirred.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS):
                await self._stirred.wait()

    async def _wake(self, *, news: bool) -> None:
        waiting = tuple(self._waiting)
        for start in range(0, len(waiting), SLICE):
            for future in waiting[start : start + SLICE]:
                _tell(future, news=news)
            await asyncio.sleep(0)


def _tell(future: "asyncio.Future[bool]", *, news: bool) -> None:
    if not future.done():
        future.set_result(news)
