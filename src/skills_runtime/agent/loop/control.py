"""Stopping the work on a run: who asks for it, the clock of a segment, and waiting until everything has let go.

Knows nothing of the log; how a stopped run is recorded is decided in `segment` and `agent`.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any

from skills_runtime.ports import Closeable
from skills_runtime.tools import describe_error

CANCEL_POLL_SECONDS = 0.05


class Control:
    """How somebody outside stops the work on a run without ending the run."""

    def __init__(self) -> None:
        self.stopping = False
        """Whether a cancellation only stops the work: the run waits and can be resumed."""
        self.yielding = False
        """Whether the work stops at the next boundary, without a trace."""
        self.broken = ""
        """Why the cancel checker failed, if the work is cancelled for that."""
        self.time: asyncio.Timeout | None = None
        """The clock of this segment."""
        self._waits = 0
        self._left: float | None = None
        """The time that was left when the clock was stopped."""

    @contextmanager
    def waiting(self) -> Generator[None]:
        """Stop the clock while a person is waited for; several may be waited for at the same time."""
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
        """Give the segment more time, if its time is limited at all."""
        when = self.time.when() if self.time is not None else None
        if self._left is not None:
            self._left += seconds
        elif self.time is not None and when is not None:
            self.time.reschedule(when + seconds)


@asynccontextmanager
async def poll_cancel_checker(checker: Callable[[], bool] | None, control: Control) -> AsyncGenerator[None]:
    """Cancel the block when the checker says so or fails; what awaits the block goes on.

    A checker that raises cannot say whether to stop. Going on would be a guess that cannot be taken back, so the work
    stops at once and `control.broken` says why: the run has failed.
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
        # Like a timeout: only who has cancelled may take it back.
        ours = bool(control.broken) or (poller.done() and not poller.cancelled())
        if not ours or task.uncancel() > 0:
            raise
    finally:
        poller.cancel()
        await asyncio.wait([poller])
        if not poller.cancelled():
            poller.exception()  # the log has told of it


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
    """Close resources one after the other, and return only when all are closed; one that fails keeps none open."""

    async def close() -> None:
        async with AsyncExitStack() as stack:
            for resource in reversed(resources):
                stack.push_async_callback(resource.aclose)

    closing = asyncio.create_task(close(), name="close")
    await wait_uncancelled([closing])
    closing.result()
