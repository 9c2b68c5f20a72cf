"""Stop the work on a run: stop requests, the clock of a segment, and waiting for cleanup.

Knows nothing of the log; `segment` and `agent` decide how a stopped run is recorded.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any

from skills_runtime.ports import Closeable
from skills_runtime.tools import describe_error

CANCEL_POLL_SECONDS = 0.05


class Control:
    """Lets a caller stop the work on a run without ending the run."""

    def __init__(self) -> None:
        self.stopping = False
        """Whether cancellation only stops the work, so that the run waits and can be resumed."""
        self.yielding = False
        """Whether the work stops at the next boundary without recording anything."""
        self.broken = ""
        """The error of the cancel checker, if that is why the work is cancelled."""
        self.time: asyncio.Timeout | None = None
        """The timeout of this segment."""
        self._waits = 0
        self._left: float | None = None
        """The remaining time when the clock was stopped."""

    @contextmanager
    def waiting(self) -> Generator[None]:
        """Stop the clock while waiting for a user; waits may overlap."""
        self._waits += 1
        when = self.time.when() if self.time is not None and not self.time.expired() else None
        if self.time is not None and when is not None:
            self._left = when - asyncio.get_running_loop().time()
            self.time.reschedule(None)
        try:
            yield
        finally:
            self._waits -= 1
            if not self._waits and self.time is not None and self._left is not None:
                self.time.reschedule(asyncio.get_running_loop().time() + self._left)
                self._left = None

    def extend(self, seconds: float) -> None:
        """Extend the time limit of the segment, if it has one."""
        when = self.time.when() if self.time is not None else None
        if self._left is not None:
            self._left += seconds
        elif self.time is not None and when is not None:
            self.time.reschedule(when + seconds)


@asynccontextmanager
async def poll_cancel_checker(checker: Callable[[], bool] | None, control: Control) -> AsyncGenerator[None]:
    """Cancel the block when the checker returns true or raises; the cancellation does not propagate out of the block.

    A checker that raises cannot tell whether to stop. Continuing could do irreversible work, so the block is cancelled
    and `control.broken` holds the reason: the run has failed.
    """
    task = asyncio.current_task()
    if checker is None or task is None:
        yield
        return

    async def poll() -> None:
        while True:
            try:
                if checker():
                    break
            except (Exception, asyncio.CancelledError) as error:
                control.broken = f"the cancel checker failed: {describe_error(error)}"
                task.cancel()
                raise
            await asyncio.sleep(CANCEL_POLL_SECONDS)
        task.cancel()

    poller = asyncio.create_task(poll(), name="cancel checker")
    try:
        yield
    except asyncio.CancelledError:
        # As in `asyncio.timeout`: swallow only the cancellation that we requested.
        ours = bool(control.broken) or (poller.done() and not poller.cancelled())
        if not ours or task.uncancel() > 0:
            raise
    finally:
        poller.cancel()
        await asyncio.wait([poller])
        if not poller.cancelled():
            poller.exception()  # retrieve the exception, which is recorded already


async def wait_uncancelled(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Wait until every task is done, ignoring cancellation meanwhile; re-raise `CancelledError` afterwards."""
    cancelled = False
    while not all(task.done() for task in tasks):
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError


async def close_all(*resources: Closeable) -> None:
    """Close resources in order and return when all are closed; a failing one does not keep the others open."""

    async def close() -> None:
        async with AsyncExitStack() as stack:
            for resource in reversed(resources):
                stack.push_async_callback(resource.aclose)

    closing = asyncio.create_task(close(), name="close")
    await wait_uncancelled([closing])
    closing.result()
