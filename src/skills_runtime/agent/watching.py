"""Watching a caller's own wish to stop, which can only be asked for.

A checker that raises cannot say whether somebody wants to stop. Going on as if nobody did would be a guess that nobody
can take back, so the work stops at once, as it does for a wish to stop; but the run has failed, and says why.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext

from skills_runtime.agent.loop.ports import Control
from skills_runtime.tools.invoke import in_words

EVERY_SECONDS = 0.05


def cancelled_by(checker: Callable[[], bool] | None, control: Control) -> AbstractAsyncContextManager[None]:
    """Cancel the block when the checker says so or fails, which `control` is told; who waits for the block goes on."""
    task = asyncio.current_task()
    return nullcontext() if checker is None or task is None else _watched(checker, task, control)


@asynccontextmanager
async def _watched(checker: Callable[[], bool], task: asyncio.Task[object], control: Control) -> AsyncGenerator[None]:
    watcher = asyncio.create_task(_watch(checker, task, control), name="cancel checker")
    try:
        yield
    except asyncio.CancelledError:
        # Like a timeout: only who has cancelled may take it back.
        ours = bool(control.broken) or (watcher.done() and not watcher.cancelled())
        if not ours or task.uncancel() > 0:
            raise
    finally:
        watcher.cancel()
        await asyncio.wait([watcher])
        if not watcher.cancelled():
            watcher.exception()  # the log has told of it


async def _watch(checker: Callable[[], bool], task: asyncio.Task[object], control: Control) -> None:
    while not _says(checker, task, control):
        await asyncio.sleep(EVERY_SECONDS)
    task.cancel()


def _says(checker: Callable[[], bool], task: asyncio.Task[object], control: Control) -> bool:
    try:
        return checker()
    except (Exception, asyncio.CancelledError) as error:
        control.broken = f"the cancel checker failed: {in_words(error)}"
        task.cancel()
        raise
