"""Waiting for work that has to be over before anybody may say that it is."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any

from skills_runtime.ports import Closing


async def outlast(work: Sequence[asyncio.Task[Any]]) -> None:
    """Return only when all of it is over, however often somebody asks us to hurry; whoever did is heard then."""
    hurried = False
    while not all(task.done() for task in work):
        try:
            await asyncio.wait(work)
        except asyncio.CancelledError:
            hurried = True
    if hurried:
        raise asyncio.CancelledError


async def close_all(*things: Closing) -> None:
    """Close things one after the other, and return only when all have let go."""
    closing = asyncio.create_task(_close(things), name="letting go")
    await outlast([closing])
    closing.result()


async def _close(things: Sequence[Closing]) -> None:
    async with AsyncExitStack() as stack:  # which goes on with the others when one fails
        for thing in reversed(things):
            stack.push_async_callback(thing.aclose)
