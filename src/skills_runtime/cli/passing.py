"""Runs one command with the streams of this process passed on, and its exit code as the answer.

The command never gets the streams themselves: what it could do with a terminal or with a file is not its business.
"""

import asyncio
import os
import select
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from skills_runtime.cli.outlet import Outlet
from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.ports import SandboxPlan
from skills_runtime.processes import Finished, Limits, execute_plan
from skills_runtime.processes.execute import Outflow

if TYPE_CHECKING:
    from skills_runtime.sandbox.egress import Doorman

PIECE = 1 << 16
GRACE_SECONDS = 0.3


async def pass_through(
    plan: SandboxPlan,
    doorman: "Callable[[], Doorman]",
    *,
    wall_seconds: float | None,
    output_bytes: int | None,
    stop: asyncio.Event | None = None,
) -> Finished:
    """Run the planned command until nothing of it is left; the doorman is made where it has a network."""
    stop = stop or asyncio.Event()
    outlet = Outlet(output_bytes, broken=stop.set)
    read_end, write_end = os.pipe()
    try:
        # Reading from what this process was given may block for ever, so nobody waits for it.
        threading.Thread(target=_feed, args=(write_end,), daemon=True).start()
        limits = Limits(
            wall_seconds=wall_seconds, output_bytes=0, grace_seconds=GRACE_SECONDS, total_bytes=output_bytes
        )
        finished = await execute_plan(
            plan, limits, doorman, on_output=Outflow(outlet.write, outlet.room), stop=stop, source=read_end
        )
    except SkillsRuntimeError:
        await outlet.finish(stop)
        raise
    finally:
        os.close(read_end)
    await outlet.finish(stop)
    outlet.check()
    return finished


def _feed(write_end: int) -> None:
    try:
        while piece := _read():
            rest = memoryview(piece)
            while rest:
                rest = rest[os.write(write_end, rest) :]
    except OSError:  # the command reads no more, or there is nothing to read from
        return
    finally:
        os.close(write_end)


def _read() -> bytes:
    """What comes next, also where the descriptor was given to this process as one that never blocks."""
    while True:
        try:
            return os.read(0, PIECE)
        except BlockingIOError:
            poll = select.poll()
            poll.register(0, select.POLLIN)
            poll.poll()
