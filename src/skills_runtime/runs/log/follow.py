"""Following a log while somebody else writes it: woken by the file system, not by polling."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import msgspec

from skills_runtime.events import TERMINAL_TYPES
from skills_runtime.events.envelope import decode_wire
from skills_runtime.runs.layout import RunPaths
from skills_runtime.runs.log.checkpoints import Checkpoints
from skills_runtime.runs.log.lines import Line, read_lines
from skills_runtime.runs.log.opening import CHECKPOINTS, header_of
from skills_runtime.runs.log.position import Position
from skills_runtime.runs.log.reader import open_for_reading
from skills_runtime.runs.log.recovery import corruption
from skills_runtime.runs.log.verifier import LogHeader

HEARTBEAT_MS = 1000
"""A change the file system did not report (some network file systems) is seen this late at worst."""
WITHOUT_WATCH_SECONDS = 0.1


async def follow_lines(paths: RunPaths, *, from_seq: int = 0) -> AsyncGenerator[bytes]:
    """Each complete line from `from_seq` on, exactly once and as written, until the run ends."""
    with open_for_reading(paths) as fd:
        header = header_of(fd)
        start = Checkpoints(paths.logs / CHECKPOINTS, header.run_id).before(from_seq, fd)
        seq, offset = start.seq, start.offset
        async with aclosing(_growth(paths, fd)) as growth:
            async for end in growth:
                for line in read_lines(fd, offset, end=end):
                    if not line.complete:
                        break
                    event_type = _type_of(line, seq, header)
                    offset = line.offset + len(line.data) + 1
                    seq += 1
                    if seq > from_seq:
                        yield line.data
                    if event_type in TERMINAL_TYPES:
                        return


def _type_of(line: Line, seq: int, header: LogHeader) -> str:
    """The type of the event with this number; a log that was cut and written anew is not taken for the old one."""
    try:
        wire = decode_wire(line.data)
    except msgspec.MsgspecError as error:
        raise corruption(Position(seq=seq), line.offset, "shape") from error
    if header.version > 0 and wire.seq != seq:
        raise corruption(Position(seq=seq), line.offset, "sequence")
    return wire.type


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
                await asyncio.wait([change])  # only a generator that is at rest can be closed


async def _changes(paths: RunPaths) -> AsyncGenerator[None]:
    """Yields whenever the file system reports a change of the log, and at every heartbeat."""
    from watchfiles import awatch  # pyright: ignore[reportUnknownVariableType]

    stop = asyncio.Event()
    options: dict[str, Any] = {"step": 5, "debounce": 20, "rust_timeout": HEARTBEAT_MS, "yield_on_timeout": True}
    try:
        async for _ in awatch(paths.events, watch_filter=None, recursive=False, stop_event=stop, **options):
            yield
    except RuntimeError:
        # No watch is left (Linux gives each user 128 at first): slower, but nobody is turned away.
        while True:
            await asyncio.sleep(WITHOUT_WATCH_SECONDS)
            yield
    finally:
        stop.set()
