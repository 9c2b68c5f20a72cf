"""Ending a run that another process may be working on, and waiting until it has really ended."""

import asyncio
import sys
from collections.abc import Callable

from skills_runtime.clock import RandomIds
from skills_runtime.engine import RunControl
from skills_runtime.errors import LogEnded, SkillsRuntimeError
from skills_runtime.events.states import RunStatus
from skills_runtime.projections import RunState
from skills_runtime.runs import LogPorts, RunPaths, follow_lines, read_view

NOTICE_SECONDS = 2
PATIENCE_SECONDS = 30
_LOOK_SECONDS = 1.0
"""How long nothing may happen before we look whether somebody still works on the run."""


class StillWorking(SkillsRuntimeError):
    """Whoever works on a run has been told to stop, and has not yet."""

    kind = "timeout"


def cancel_run(
    desk: RunControl, paths: RunPaths, ports: LogPorts, reason: str, *, patience: int = PATIENCE_SECONDS
) -> RunState:
    """The state of the run once it has ended; raises when it ended otherwise, or takes too long."""
    before = read_view(paths, ports).state
    key = RandomIds().new("cancel")  # said again it is the same message
    if desk.cancel(paths, reason, key=key) is not None:
        work = _until_ended(paths, before.last_seq, lambda: _ended_by_us(desk, paths, reason, key), patience=patience)
        if not asyncio.run(work):
            raise StillWorking(
                f"the run `{before.run_id}` was told to end, but has not within {patience} s",
                hint="it ends when its process reads the message; `runs tail RUN --follow` shows when",
            )
    state = read_view(paths, ports).state
    if state.status is not RunStatus.CANCELLED:
        raise LogEnded(f"the run `{state.run_id}` is {state.status}: it ended before it could be cancelled")
    return state


async def _until_ended(paths: RunPaths, start: int, try_again: Callable[[], bool], *, patience: int) -> bool:
    """Follow the log to its end; whenever it is silent, look whether nobody works on the run any more."""
    end = asyncio.create_task(_read_to_end(paths, start))
    try:
        for second in range(1, patience + 1):
            await asyncio.wait({end}, timeout=_LOOK_SECONDS)
            if end.done():
                end.result()
                return True
            if try_again():
                return True
            if second == NOTICE_SECONDS:
                sys.stderr.write("waiting for the process that works on the run to stop\n")
                sys.stderr.flush()
        return False
    finally:
        end.cancel()
        await asyncio.wait({end})


async def _read_to_end(paths: RunPaths, start: int) -> None:
    async for _ in follow_lines(paths, from_seq=start):
        pass


def _ended_by_us(desk: RunControl, paths: RunPaths, reason: str, key: str) -> bool:
    """End the run here when whoever worked on it is gone."""
    try:
        return desk.cancel(paths, reason, key=key) is None
    except LogEnded:
        return True
