"""Watching a caller's own wish to stop, which can only be asked for."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress

EVERY_SECONDS = 0.05


@asynccontextmanager
async def cancelled_by(checker: Callable[[], bool] | None) -> AsyncGenerator[None]:
    """Cancel the block when the checker says so."""
    if checker is None:
        yield
        return
    watcher = asyncio.create_task(_watch(checker, asyncio.current_task()), name="cancel checker")
    try:
        yield
    finally:
        watcher.cancel()
        with suppress(asyncio.CancelledError):
            await watcher


async def _watch(checker: Callable[[], bool], task: asyncio.Task[object] | None) -> None:
    while not checker():
        await asyncio.sleep(EVERY_SECONDS)
    if task is not None:
        task.cancel()
