"""Event loops for callers who have none, or who are inside a running one and want an answer at once (a notebook)."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end."""
    return _where_no_loop_runs(partial(asyncio.run, work))


def iterate_sync(items: AsyncGenerator[T], close: Callable[[], Awaitable[None]]) -> Iterator[T]:
    """What a generator gives, as it gives it; whoever leaves early closes it, and `close` is called in its loop."""
    runner = asyncio.Runner()

    def run(work: Coroutine[Any, Any, T | None]) -> T | None:
        return _where_no_loop_runs(partial(runner.run, work))

    try:
        while (item := run(_next(items))) is not None:
            yield item
    finally:
        try:
            run(_end(items, close))
        finally:
            _where_no_loop_runs(runner.close)


def _where_no_loop_runs(work: Callable[[], T]) -> T:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(1, thread_name_prefix="agent-run") as aside:
        return aside.submit(work).result()


async def _next(items: AsyncGenerator[T]) -> T | None:
    return await anext(items, None)


async def _end(items: AsyncGenerator[Any], close: Callable[[], Awaitable[None]]) -> None:
    try:
        await items.aclose()
    finally:
        await close()
