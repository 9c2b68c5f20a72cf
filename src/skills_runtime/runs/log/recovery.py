"""What opening a log finds: a verified prefix, and perhaps bytes after it that were never acknowledged.

A bad end is set aside; damage in the middle is refused, because what follows it was acknowledged.
"""

import hashlib
import os
from pathlib import Path
from typing import Literal

import msgspec

from skills_runtime.errors import LogCorrupt
from skills_runtime.events.payloads import Descriptor
from skills_runtime.runs.layout import FILE_MODE
from skills_runtime.runs.log.disk import sync_path
from skills_runtime.runs.log.lines import CHUNK, Line, read_lines
from skills_runtime.runs.log.position import Position
from skills_runtime.runs.log.verifier import MEANING, Fault, Verifier

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


def recover(fd: int, verifier: Verifier) -> Recovered:
    """Verify from the verifier's position to the end; raises `LogCorrupt` for damage in the middle."""
    bad: Line | None = None
    fault: Fault = "shape"
    before = b""
    for line in read_lines(fd, verifier.position.offset):
        if bad is None:
            found = verifier.check(line.data) if line.complete else "shape"
            if found is not None:
                bad, fault, before = line, found, line.data
        else:
            if line.complete and verifier.links(before, line.data):
                raise corruption(verifier.position, bad.offset, fault)
            before = line.data
    if bad is None:
        return Recovered(position=verifier.position)
    size = os.fstat(fd).st_size - bad.offset
    reason: Reason = "unverified" if bad.complete else "torn"
    return Recovered(position=verifier.position, tail=Tail(reason=reason, fault=fault, offset=bad.offset, size=size))


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
    finally:
        os.close(out)
    sync_path(str(logs))
    os.ftruncate(fd, tail.offset)
    os.fsync(fd)
    return Descriptor(name=f"logs/{name}", sha256=digest.hexdigest(), size=tail.size, role="rejected")
