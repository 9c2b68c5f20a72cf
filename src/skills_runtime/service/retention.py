"""Removes executions that were kept for long enough, beside everything else, for as long as the service is there."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import msgspec

from skills_runtime.clock import SystemClock
from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.executions import Executor
from skills_runtime.executions.retention import Retention
from skills_runtime.executions.runner import wait_uncancelled
from skills_runtime.service.metrics import Metrics

EVERY_SECONDS = 60 * 60
RETENTION_LOG = logging.getLogger("skills_runtime.service.retention")
Pause = Callable[[], Awaitable[None]]
"""Waits until it is time to look again."""


async def _an_hour() -> None:
    await asyncio.sleep(EVERY_SECONDS)


@asynccontextmanager
async def keep_retention(
    executor: Executor, keep: Retention, metrics: Metrics, *, pause: Pause = _an_hour
) -> AsyncGenerator[None]:
    """Look at once and then again and again, unless everything is kept; when it is left, nothing is being removed."""
    if keep.is_off:
        yield
        return
    task = asyncio.create_task(_tidy_again_and_again(executor, keep, metrics, pause), name="remove old executions")
    try:
        yield
    finally:
        task.cancel()
        await wait_uncancelled(task)


async def _tidy_again_and_again(executor: Executor, keep: Retention, metrics: Metrics, pause: Pause) -> None:
    while True:
        try:
            await _tidy(executor, keep, metrics)
        except (SkillsRuntimeError, OSError) as error:  # the next time it may work
            _tell(logging.WARNING, error=str(error))
        await pause()


async def _tidy(executor: Executor, keep: Retention, metrics: Metrics) -> None:
    done = await executor.tidy(keep)
    metrics.executions_removed("retention", done.removed)
    if done.removed or done.failed:
        _tell(logging.WARNING if done.failed else logging.INFO, **msgspec.structs.asdict(done))


def _tell(level: int, **about: object) -> None:
    RETENTION_LOG.log(level, "%s", json.dumps({"time": SystemClock().now(), "what": "executions_removed", **about}))
