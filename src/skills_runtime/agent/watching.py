"""Watching a caller's own wish to stop, which can only be asked for.

A checker that raises cannot say whether somebody wants to stop. Going on as if nobody did would be a guess that nobody
can take back, so the work stops at once, as it does for a wish to stop; but the run has failed, and says why.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary

from skills_runtime.tools.invoke import in_words

EVERY_SECONDS = 0.05
_BROKEN: WeakKeyDictionary[asyncio.Task[object], str] = WeakKeyDictionary()
"""What went wrong with the checkers of tasks that were stopped for that."""


@asynccontextmanager
async def cancelled_by(checker: Callable[[], bool] | None) -> AsyncGenerator[None]:
    """Cancel the block when the checker says so or fails; whoever waits for the block goes on.

    Inside the block, `why_stopped` tells one from the other.
    """
    task = asyncio.current_task()
    if checker is None or task is None:
        yield
        return
    watcher = asyncio.create_task(_watch(checker, task), name="cancel checker")
    try:
        yield
    except asyncio.CancelledError:
        # Like a timeout: only who has cancelled may take it back.
        ours = task in _BROKEN or (watcher.done() and not watcher.cancelled())
        if not ours or task.uncancel() > 0:
            raise
    finally:
        watcher.cancel()
        await asyncio.wait([watcher])
        if not watcher.cancelled():
            watcher.exception()  # the log has told of it
        _BROKEN.pop(task, None)


def why_stopped() -> str | None:
    """What went wrong with the checker of this task, if it was stopped for that and not because somebody wanted it."""
    task = asyncio.current_task()
    return _BROKEN.get(task) if task is not None else None


async def _watch(checker: Callable[[], bool], task: asyncio.Task[object]) -> None:
    while not _says(checker, task):
        await asyncio.sleep(EVERY_SECONDS)
    task.cancel()


def _says(checker: Callable[[], bool], task: asyncio.Task[object]) -> bool:
    try:
        return checker()
    except (Exception, asyncio.CancelledError) as error:
        _BROKEN[task] = f"the cancel checker failed: {in_words(error)}"
        task.cancel()
        raise
