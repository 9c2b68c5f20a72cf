"""What opening a log finds: a verified prefix, and perhaps bytes after it that were never acknowledged.

A bad end is set aside; damage in the middle is refused, because what follows it was acknowledged.
"""

import hashlib
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from skills_runtime.errors import LogCorrupt
from skills_runtime.events.payloads import Descriptor
from skills_runtime.runs.layout import FILE_MODE
from skills_runtime.runs.log.lines import CHUNK, Line, read_lines
from skills_runtime.runs.log.position import Position
from skills_runtime.runs.log.verifier import MEANING, Fault, Verifier
from skills_runtime.storage.files import sync_path

Reason = Literal["torn", "unverified"]


class Tail(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes after the verified prefix."""

    reason: Reason
    fault: Fault
    offset: int
    size: int


class Recovered(msgspec.Struct, frozen=True, kw_only=True):
    """Where the log may go on, and what stands after that place."""

    position: Position
    tail: Tail | None = None


def verified_lines(fd: int, verifier: Verifier) -> Generator[Line, None, Tail | None]:
    """Each line that verifies; returns what stands after the last, raises `LogCorrupt` for damage in the middle."""
    lines = read_lines(fd, verifier.position.offset)
    for line in lines:
        fault = verifier.check(line.data) if line.complete else "shape"
        if fault is not None:
            _refuse_damage(verifier, line, fault, lines)
            return _tail(fd, line.offset, fault, reason="unverified" if line.complete else "torn")
        yield line
    return None


def recover(fd: int, verifier: Verifier, *, adopting: bool = False) -> Recovered:
    """Verify to the end; lines signed with a key that is not here count only for somebody who adopts the run."""
    lines = verified_lines(fd, verifier)
    while True:
        try:
            next(lines)
        except StopIteration as end:
            tail: Tail | None = end.value
            break
    lost = verifier.lost_trust_at
    if lost is not None and not adopting:
        return Recovered(position=lost, tail=_tail(fd, lost.offset, "key", reason="unverified"))
    return Recovered(position=verifier.position, tail=tail)


def _refuse_damage(verifier: Verifier, bad: Line, fault: Fault, rest: Iterator[Line]) -> None:
    broken = fault == "prefix"  # sealed with our key, so the lines before it are the ones that changed
    before = bad.data
    for line in rest:
        broken = broken or (line.complete and verifier.links(before, line.data))
        before = line.data
    if broken:
        raise corruption(verifier.position, bad.offset, fault)


def _tail(fd: int, offset: int, fault: Fault, *, reason: Reason) -> Tail:
    return Tail(reason=reason, fault=fault, offset=offset, size=os.fstat(fd).st_size - offset)


def corruption(position: Position, offset: int, fault: Fault) -> LogCorrupt:
    """The refusal that names the line and how it broke."""
    return LogCorrupt(
        f"line {position.seq + 1} of the log {MEANING[fault]}",
        details={"seq": position.seq, "offset": offset, "fault": fault},
    )


def set_aside(fd: int, tail: Tail, logs: Path) -> Descriptor:
    """Copy the bad end into `logs/`, then cut it off; nothing is ever destroyed."""
    digest = hashlib.sha256()
    name = f"rejected-{tail.offset}-{os.urandom(4).hex()}.bin"
    path = logs / name
    out = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    try:
        offset = tail.offset
        while chunk := os.pread(fd, CHUNK, offset):
            written = os.write(out, chunk)
            digest.update(chunk[:written])
            offset += written
        os.fsync(out)
    except OSError:
        path.unlink()
        raise
    finally:
        os.close(out)
    sync_path(logs)
    os.ftruncate(fd, tail.offset)
    os.fsync(fd)
    return Descriptor(name=f"logs/{name}", sha256=digest.hexdigest(), size=tail.size, role="rejected")
