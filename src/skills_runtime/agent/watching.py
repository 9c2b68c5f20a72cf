"""Watching a caller's own wish to stop, which can only be asked for."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress

EVERY_SECONDS = 0.05


@asynccontextmanager
async def cancelled_by(checker: Callable[[], bool] | None) -> AsyncGenerator[None]:
    """Cancel the block when the checker says so; whoever waits for the block goes on."""
    task = asyncio.current_task()
    if checker is None or task is None:
        yield
        return
    watcher = asyncio.create_task(_watch(checker, task), name="cancel checker")
    try:
        yield
    except asyncio.CancelledError:
        # Like a timeout: only who has cancelled may take it back.
        if not watcher.done() or watcher.cancelled() or task.uncancel() > 0:
            raise
    finally:
        watcher.cancel()
        with suppress(asyncio.CancelledError):
            await watcher


async def _watch(checker: Callable[[], bool], task: asyncio.Task[object]) -> None:
    while not checker():
        await asyncio.sleep(EVERY_SECONDS)
    task.cancel()
