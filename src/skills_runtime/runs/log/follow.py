"""Following a log while somebody else writes it: woken by the file system, not by polling."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from skills_runtime.events import TERMINAL_TYPES
from skills_runtime.events.envelope import decode_wire
from skills_runtime.runs.layout import RunPaths
from skills_runtime.runs.log.checkpoints import Checkpoints
from skills_runtime.runs.log.lines import read_lines
from skills_runtime.runs.log.opening import CHECKPOINTS, header_of
from skills_runtime.runs.log.reader import open_for_reading

HEARTBEAT_MS = 1000
"""A change the file system did not report (some network file systems) is seen this late at worst."""


async def follow_lines(paths: RunPaths, *, from_seq: int = 0) -> AsyncGenerator[bytes]:
    """Each complete line from `from_seq` on, exactly once and as written, until the run ends."""
    with open_for_reading(paths) as fd:
        start = Checkpoints(paths.logs / CHECKPOINTS, header_of(fd).run_id).before(from_seq, fd)
        seq, offset = start.seq, start.offset
        async with aclosing(_growth(paths, fd)) as growth:
            async for end in growth:
                for line in read_lines(fd, offset, end=end):
                    if not line.complete:
                        break
                    offset = line.offset + len(line.data) + 1
                    seq += 1
                    if seq > from_seq:
                        yield line.data
                    if decode_wire(line.data).type in TERMINAL_TYPES:
                        return


async def _growth(paths: RunPaths, fd: int) -> AsyncGenerator[int]:
    """The size of the log, now and whenever it has changed."""
    size = os.fstat(fd).st_size
    yield size
    async with aclosing(_changes(paths)) as changes:
        while True:
            change = asyncio.ensure_future(anext(changes))
            try:
                # Once the task ran the watch is in place: what was written before it is seen here, the rest by it.
                await asyncio.sleep(0)
                if os.fstat(fd).st_size == size:
                    await change
                while os.fstat(fd).st_size != size:
                    size = os.fstat(fd).st_size
                    yield size
                await change
            finally:
                change.cancel()


async def _changes(paths: RunPaths) -> AsyncGenerator[None]:
    """Yields whenever the file system reports a change of the log, and at every heartbeat."""
    from watchfiles import awatch  # pyright: ignore[reportUnknownVariableType]

    stop = asyncio.Event()
    options: dict[str, Any] = {"step": 5, "debounce": 20, "rust_timeout": HEARTBEAT_MS, "yield_on_timeout": True}
    try:
        async for _ in awatch(paths.events, watch_filter=None, recursive=False, stop_event=stop, **options):
            yield
    finally:
        stop.set()
