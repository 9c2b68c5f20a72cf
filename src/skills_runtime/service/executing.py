"""Executes a skill for a request, for as long as the client is there to hear of it."""

import asyncio
from typing import Any

from starlette.requests import Request

from skills_runtime.executions.values import Execution
from skills_runtime.service.parts import Parts
from skills_runtime.skills import Skill


class ClientGone(Exception):
    """Nobody waits for the answer any more."""


async def execute_for(
    request: Request, parts: Parts, skill: Skill, given: Any, *, timeout_ms: int | None, key: str | None
) -> Execution:
    """The execution when it has ended; a client that goes away ends it, and all its processes."""
    work = asyncio.create_task(parts.executor.execute(skill, given, timeout_ms=timeout_ms, key=key))
    gone = asyncio.create_task(_gone(request))
    try:
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise ClientGone
        execution = work.result()
    finally:
        for task in (gone, work):
            task.cancel()
        await asyncio.wait({gone, work})  # returns when nothing of the execution is left
    parts.metrics.execution_ended(execution.record.skill, execution.status, execution.duration_ms / 1000)
    return execution


async def _gone(request: Request) -> None:
    """Return when the client has closed its connection; its body must have been read before."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
