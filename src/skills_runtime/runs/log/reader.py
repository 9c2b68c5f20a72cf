"""Read a log as events, from any position and of any version, optionally verified; and follow a growing one.

Following relies on file system notifications, not on polling.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Generator, Iterator
from contextlib import aclosing, contextmanager
from typing import Any

import msgspec

from skills_runtime.errors import AccessRefused, NotFound
from skills_runtime.events import TERMINAL_TYPES, Event, decode_event, decode_wire
from skills_runtime.runs.layout import RunPaths
from skills_runtime.runs.log.chain import Fault, Line, LogHeader, Position, read_lines
from skills_runtime.runs.log.checkpoints import Checkpoints
from skills_runtime.runs.log.keys import KeyRing
from skills_runtime.runs.log.recovery import (
    CHECKPOINTS,
    OWNER_HINT,
    RUNS_HINT,
    corruption_error,
    create_verifier,
    read_log_header,
    recover,
    start_verifier,
    verify_lines,
)
from skills_runtime.storage import error_reason, open_regular

HEARTBEAT_MS = 1000
"""The longest delay for a change that the file system does not report, as on some network file systems."""
WITHOUT_WATCH_SECONDS = 0.1


@contextmanager
def open_for_reading(paths: RunPaths) -> Generator[int]:
    """Open the log for the duration of a `with` block."""
    try:
        fd = open_regular(paths.events)
    except FileNotFoundError:
        raise NotFound(f"`{paths.root}` is not a run directory: it has no `events.jsonl`", hint=RUNS_HINT) from None
    except OSError as error:
        raise AccessRefused(f"`{paths.events}` cannot be read: {error_reason(error)}", hint=OWNER_HINT) from error
    try:
        yield fd
    finally:
        os.close(fd)


class Authenticity(msgspec.Struct, frozen=True):
    """How much of a log is authentic."""

    header: LogHeader
    position: Position
    unchecked: int
    tail_bytes: int
    tail_fault: Fault | None


def authenticate(paths: RunPaths, keys: KeyRing) -> Authenticity:
    """Verify the whole log; raises `LogCorrupt` for damage in the middle."""
    with open_for_reading(paths) as fd:
        header = read_log_header(fd)
        verifier = start_verifier(fd, paths, keys, header, from_start=True)
        recovered = recover(fd, verifier)
        tail = recovered.tail
        return Authenticity(
            header=header,
            position=recovered.position,
            unchecked=verifier.unchecked,
            tail_bytes=tail.size if tail else 0,
            tail_fault=tail.fault if tail else None,
        )


def read_events(paths: RunPaths, *, from_seq: int = 0) -> Iterator[Event]:
    """Read events from `from_seq` on; accepts unknown types and stops at a torn tail."""
    with open_for_reading(paths) as fd:
        header = read_log_header(fd)
        start = (
            Position()
            if from_seq == 0
            else Checkpoints(paths.logs / CHECKPOINTS, header.run_id).find_before(from_seq, fd)
        )
        index = start.seq
        for line in read_lines(fd, start.offset):
            if not line.complete:
                return
            if index >= from_seq:
                yield _decode(line.data, header, index)
            index += 1


def read_verified(paths: RunPaths, keys: KeyRing, start: Position | None = None) -> Iterator[Event]:
    """Read the verified events after `start`; stops where trust ends, raises for damage in the middle."""
    with open_for_reading(paths) as fd:
        header = read_log_header(fd)
        verifier = create_verifier(fd, keys, header, start)
        end: int | None = None
        for line in verify_lines(fd, verifier):
            if verifier.lost_trust_at is not None and end is None:
                # Only an adoption further down can vouch for this line: find out how far the trust reaches.
                end = recover(fd, create_verifier(fd, keys, header, start)).position.offset
            if end is not None and line.offset >= end:
                return
            yield _decode(line.data, header, verifier.position.seq - 1)


def _decode(line: bytes, header: LogHeader, index: int) -> Event:
    try:
        return decode_event(line, version=header.version, index=index)
    except msgspec.MsgspecError as error:
        position = Position(seq=index)
        raise corruption_error(position, -1, "shape") from error


async def follow_lines(paths: RunPaths, *, from_seq: int = 0) -> AsyncGenerator[bytes]:
    """Yield each complete line from `from_seq` on, exactly once and verbatim, until the run ends."""
    with open_for_reading(paths) as fd:
        header = read_log_header(fd)
        start = Checkpoints(paths.logs / CHECKPOINTS, header.run_id).find_before(from_seq, fd)
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
    """Return the event type of a line; raise when its number shows that the log was replaced."""
    try:
        wire = decode_wire(line.data)
    except msgspec.MsgspecError as error:
        raise corruption_error(Position(seq=seq), line.offset, "shape") from error
    if header.version > 0 and wire.seq != seq:
        raise corruption_error(Position(seq=seq), line.offset, "sequence")
    return wire.type


async def _growth(paths: RunPaths, fd: int) -> AsyncGenerator[int]:
    """Yield the size of the log, now and after each change."""
    size = os.fstat(fd).st_size
    yield size
    async with aclosing(_changes(paths)) as changes:
        while True:
            change = asyncio.ensure_future(anext(changes))
            try:
                # After one loop iteration the watch is active: earlier writes show in the size, later ones wake it.
                await asyncio.sleep(0)
                if os.fstat(fd).st_size == size:
                    await change
                while os.fstat(fd).st_size != size:
                    size = os.fstat(fd).st_size
                    yield size
                await change
            finally:
                change.cancel()
                await asyncio.wait([change])  # a running generator cannot be closed


async def _changes(paths: RunPaths) -> AsyncGenerator[None]:
    """Yield at every reported change of the log, and at every heartbeat."""
    # Slow to import, and needed only to follow a run.
    from watchfiles import awatch  # pyright: ignore[reportUnknownVariableType]

    stop = asyncio.Event()
    options: dict[str, Any] = {"step": 5, "debounce": 20, "rust_timeout": HEARTBEAT_MS, "yield_on_timeout": True}
    try:
        async for _ in awatch(paths.events, watch_filter=None, recursive=False, stop_event=stop, **options):
            yield
    except RuntimeError:
        # No inotify instance is left (128 per user by default): fall back to polling.
        while True:
            await asyncio.sleep(WITHOUT_WATCH_SECONDS)
            yield
    finally:
        stop.set()
