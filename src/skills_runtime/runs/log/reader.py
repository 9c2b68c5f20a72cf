"""Reading a log as events: from any place, of any version, verified where that is asked for."""

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import msgspec

from skills_runtime.errors import AccessRefused, NotFound
from skills_runtime.events import Event, decode_event
from skills_runtime.runs.layout import RunPaths
from skills_runtime.runs.log.checkpoints import Checkpoints
from skills_runtime.runs.log.keys import KeyRing
from skills_runtime.runs.log.lines import read_lines
from skills_runtime.runs.log.opening import (
    CHECKPOINTS,
    WHERE_RUNS_ARE,
    WHOSE_RUN,
    header_of,
    start_verifier,
    verifier_at,
)
from skills_runtime.runs.log.position import Position
from skills_runtime.runs.log.recovery import corruption, recover, verified_lines
from skills_runtime.runs.log.verifier import Fault, LogHeader


@contextmanager
def open_for_reading(paths: RunPaths) -> Generator[int]:
    """A descriptor of the log, closed afterwards."""
    try:
        fd = os.open(paths.events, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        raise NotFound(
            f"`{paths.root}` is not a run directory: it has no `events.jsonl`", hint=WHERE_RUNS_ARE
        ) from None
    except OSError as error:
        raise AccessRefused(f"`{paths.events}` cannot be read: {error.strerror}", hint=WHOSE_RUN) from error
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
        header = header_of(fd)
        verifier = start_verifier(fd, paths, keys, header, whole=True)
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
        header = header_of(fd)
        start = (
            Position() if from_seq == 0 else Checkpoints(paths.logs / CHECKPOINTS, header.run_id).before(from_seq, fd)
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
        header = header_of(fd)
        verifier = verifier_at(fd, keys, header, start)
        end: int | None = None
        for line in verified_lines(fd, verifier):
            if verifier.lost_trust_at is not None and end is None:
                # Only an adoption further down can vouch for this line: find out how far the trust reaches.
                end = recover(fd, verifier_at(fd, keys, header, start)).position.offset
            if end is not None and line.offset >= end:
                return
            yield _decode(line.data, header, verifier.position.seq - 1)


def _decode(line: bytes, header: LogHeader, index: int) -> Event:
    try:
        return decode_event(line, version=header.version, index=index)
    except msgspec.MsgspecError as error:
        at = Position(seq=index)
        raise corruption(at, -1, "shape") from error
