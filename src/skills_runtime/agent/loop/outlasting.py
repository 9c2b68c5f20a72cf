"""Waiting for work that has to be over before anybody may say that it is."""

import asyncio
from collections.abc import Sequence
from typing import Any


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
