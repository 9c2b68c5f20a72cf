"""Executions under way in this process: how many may be, and who waits for which."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from skills_runtime.errors import Busy
from skills_runtime.executions.jobs import Stop
from skills_runtime.executions.values import Execution, PoolLimits


class Live:
    """One execution under way, and how many wait for it."""

    def __init__(self, request: str) -> None:
        self.request = request
        self.stop = Stop()
        self.execution_id: str | None = None
        self.begun = False
        """Whether there is a record of it that has to be settled."""
        self.task: asyncio.Task[Execution]
        self._waiting = 0

    async def follow(self) -> Execution:
        """Wait for its end; when the last one who waits gives up, it is ended."""
        self._waiting += 1
        try:
            return await asyncio.shield(self.task)
        except asyncio.CancelledError:
            if self.task.cancelled():
                raise Busy("executions are being shut down") from None
            if self._waiting == 1:
                self.end()
                await outlast(self.task)
            raise
        finally:
            self._waiting -= 1

    def end(self) -> None:
        """End it; one that has not begun just does not."""
        self.stop.set("cancelled")
        if not self.begun:
            self.task.cancel()


async def outlast(task: "asyncio.Future[Any]") -> None:
    """Wait until something is over, however often the caller is told not to."""
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            continue
    if not task.cancelled():
        task.exception()  # looked at, so that nobody complains that it was not


class Slots:
    """So many executions at a time; the others wait, as long as there are not too many."""

    def __init__(self, limits: PoolLimits) -> None:
        self.most = limits.concurrent or 2 * (os.cpu_count() or 1)
        self._free = asyncio.Semaphore(self.most)
        self._patience = limits.waiting
        self.waiting = 0
        self.running = 0

    @asynccontextmanager
    async def one(self) -> AsyncGenerator[None]:
        """Wait for a turn; raises `Busy` when too many do."""
        if self._free.locked() and self.waiting >= self._patience:
            raise Busy(f"{self.waiting} executions wait already", details={"retry_after_ms": 1000})
        self.waiting += 1
        try:
            await self._free.acquire()
        finally:
            self.waiting -= 1
        self.running += 1
        try:
            yield
        finally:
            self.running -= 1
            self._free.release()
