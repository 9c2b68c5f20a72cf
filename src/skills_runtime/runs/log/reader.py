"""Reading a log as events, from any place, of any version, verified where that is asked for; and following one.

Who follows a log while somebody else writes it is woken by the file system, not by polling.
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
from skills_runtime.runs.log.opening import (
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
"""A change the file system did not report (some network file systems) is seen this late at worst."""
WITHOUT_WATCH_SECONDS = 0.1


@contextmanager
def open_for_reading(paths: RunPaths) -> Generator[int]:
    """A descriptor of the log, closed afterwards."""
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
    """How far a log can be believed."""

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
    """The events from `from_seq` on, tolerant of what it does not know; a torn end is left out."""
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
    """The events of the verified prefix after `start`; stops where trust ends, raises where the middle is damaged."""
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
    """Each complete line from `from_seq` on, exactly once and as written, until the run ends."""
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
    """The type of the event with this number; a log that was cut and written anew is not taken for the old one."""
    try:
        wire = decode_wire(line.data)
    except msgspec.MsgspecError as error:
        raise corruption_error(Position(seq=seq), line.offset, "shape") from error
    if header.version > 0 and wire.seq != seq:
        raise corruption_error(Position(seq=seq), line.offset, "sequence")
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
    # Slow to import, and only who follows a run needs it.
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
