"""One log that is followed: one reader, and all who wait for it."""

import asyncio
from contextlib import suppress
from itertools import islice
from time import monotonic

from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.service.streams.recent import Batch, Recent
from skills_runtime.service.streams.tail import LogTail

LOOK_SECONDS = 0.1
"""How late a line is seen that another process wrote; those of this process are told at once."""
BEAT_SECONDS = 15.0
SECONDS_PER_LISTENER = 0.0005
"""Serving somebody costs about a tenth of this, so listeners never take more than that part of a processor."""
LONGEST_ROUND = 0.5
"""How long somebody waits at most until everybody else was served once."""
SLICE = 8
"""How many are served at once, which keeps whatever else is going on, runs above all, waiting for a moment."""


class LogStream:
    """Reads a log as it grows, for as long as anybody listens.

    Those who wait are served in the order in which they came, a few at a time and evenly: the log is read on between
    two slices, and a run never meets a thousand listeners at once.
    """

    def __init__(self, tail: LogTail) -> None:
        self._tail = tail
        self._recent = Recent(tail.seq)
        self._waiting: dict[asyncio.Future[bool], int] = {}
        """All who wait for news, and the number of the event each of them wants."""
        self._stirred = asyncio.Event()
        self.resting = False
        """Whether the log is looked at only when somebody says so, or after a while."""
        self.listeners = 0
        self.over = False
        """Whether nothing will come any more: the run has ended, or the log cannot be read."""
        self._quiet_since = monotonic()
        self._work = asyncio.create_task(self._follow(), name="log reader")

    def since(self, seq: int) -> Batch | None:
        """What is known from `seq` on; None when it must be read from the file."""
        return self._recent.since(seq)

    def stir(self) -> None:
        """Look at the log now."""
        self._stirred.set()

    async def news(self, seq: int) -> bool:
        """Wait until `seq` has come, or, when it is false, until it is time for a sign of life."""
        future = asyncio.get_running_loop().create_future()
        self._waiting[future] = seq
        try:
            return await future
        finally:
            self._waiting.pop(future, None)

    def abandon(self) -> None:
        """Stop reading, for nobody listens any more."""
        self._work.cancel()

    async def close(self) -> None:
        """Stop reading; everybody who waits learns that it is over."""
        self._work.cancel()
        await asyncio.wait([self._work])

    async def _follow(self) -> None:
        try:
            while True:
                self._read()
                served = self._serve()
                if served:
                    await asyncio.sleep(self._pause(served))
                elif self._tail.ended:
                    return
                elif monotonic() - self._quiet_since >= BEAT_SECONDS:
                    await self._beat()
                elif self.resting:
                    await self._rest()
                else:
                    await asyncio.sleep(self._pause(1))  # everybody is busy with what came before
        except (SkillsRuntimeError, OSError):
            return  # who comes again is told why
        finally:
            self.over = True
            self._tail.close()
            for future in tuple(self._waiting):
                _tell(future, news=True)

    def _read(self) -> None:
        """Take in what has been written."""
        # Said before the log is looked at: what is written in between is not overlooked.
        self._stirred.clear()
        self.resting = True
        frames = self._tail.read()
        if frames:
            self.resting = False
            self._recent.add(frames)
            self._quiet_since = monotonic()

    def _serve(self) -> int:
        """Tell some of those who wait for what is there, the first who came first; how many that were."""
        known = self._recent.next_seq
        served = tuple(islice((future for future, seq in self._waiting.items() if seq < known), SLICE))
        for future in served:
            del self._waiting[future]
            _tell(future, news=True)
        return len(served)

    def _pause(self, served: int) -> float:
        return served * min(SECONDS_PER_LISTENER, LONGEST_ROUND / max(self.listeners, 1))

    async def _rest(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS):
                await self._stirred.wait()

    async def _beat(self) -> None:
        """Give everybody who waits a sign of life."""
        self._quiet_since = monotonic()
        waiting = tuple(self._waiting)
        for start in range(0, len(waiting), SLICE):
            for future in waiting[start : start + SLICE]:
                _tell(future, news=False)
            await asyncio.sleep(self._pause(SLICE))
        await asyncio.sleep(0)


def _tell(future: "asyncio.Future[bool]", *, news: bool) -> None:
    if not future.done():
        future.set_result(news)
