"""Runs one command with the streams of this process passed on, and its exit code as the answer.

The command never gets the streams themselves: what it could do with a terminal or with a file is not its business.
"""

import asyncio
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from skills_runtime.ports import SandboxPlan
from skills_runtime.processes import Finished, Limits, Stream, execute_plan

if TYPE_CHECKING:
    from skills_runtime.sandbox.egress import Doorman

PIECE = 1 << 16
GRACE_SECONDS = 0.3
_NUMBERS: dict[Stream, int] = {"stdout": 1, "stderr": 2}


async def pass_through(
    plan: SandboxPlan,
    doorman: "Callable[[], Doorman]",
    *,
    wall_seconds: float | None,
    output_bytes: int | None,
    stop: asyncio.Event | None = None,
) -> Finished:
    """Run the planned command until nothing of it is left; the doorman is made where it has a network."""
    output = _Output(output_bytes)
    read_end, write_end = os.pipe()
    try:
        # Reading from what this process was given may block for ever, so nobody waits for it.
        threading.Thread(target=_feed, args=(write_end,), daemon=True).start()
        limits = Limits(
            wall_seconds=wall_seconds, output_bytes=0, grace_seconds=GRACE_SECONDS, total_bytes=output_bytes
        )
        return await execute_plan(plan, limits, doorman, on_output=output.write, stop=stop, source=read_end)
    finally:
        os.close(read_end)


class _Output:
    """What may still be written."""

    def __init__(self, allowed: int | None) -> None:
        self._left = allowed

    def write(self, stream: Stream, data: bytes) -> None:
        if self._left is not None:
            data = data[: self._left]
            self._left -= len(data)
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(_NUMBERS[stream], rest) :]


def _feed(write_end: int) -> None:
    try:
        while piece := os.read(0, PIECE):
            rest = memoryview(piece)
            while rest:
                rest = rest[os.write(write_end, rest) :]
    except OSError:  # the command reads no more, or there is nothing to read from
        return
    finally:
        os.close(write_end)
