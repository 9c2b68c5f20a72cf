"""Reading a log as bytes: complete lines with their offsets, in bounded memory."""

import hashlib
import os
from collections.abc import Iterator
from typing import NamedTuple

CHUNK = 1 << 20
_SMALL = 4096


class Line(NamedTuple):
    """One line without its newline; `complete` says whether the newline was there."""

    offset: int
    data: bytes
    complete: bool


def read_lines(fd: int, offset: int = 0, *, end: int | None = None, step: int | None = None) -> Iterator[Line]:
    """The lines from `offset` on, read `step` bytes at a time; the last may be incomplete."""
    parts: list[bytes] = []
    start = offset
    while chunk := os.pread(fd, _amount(step or CHUNK, offset, end), offset):
        offset += len(chunk)
        *ends, rest = chunk.split(b"\n")
        for piece in ends:
            data = b"".join((*parts, piece))
            parts.clear()
            yield Line(start, data, complete=True)
            start += len(data) + 1
        parts.append(rest)
    if data := b"".join(parts):
        yield Line(start, data, complete=False)


def _amount(step: int, offset: int, end: int | None) -> int:
    return step if end is None else max(0, min(step, end - offset))


def first_line(fd: int, offset: int = 0) -> Line | None:
    """The line at `offset`, read with as little of what follows as can be."""
    return next(read_lines(fd, offset, step=_SMALL), None)


def line_before(fd: int, offset: int) -> bytes | None:
    """The complete line that ends at `offset`, or None when no line ends there."""
    size = _SMALL
    while offset > 0:
        start = max(0, offset - size)
        data = os.pread(fd, offset - start, start)
        if not data.endswith(b"\n"):
            return None
        cut = data.rfind(b"\n", 0, -1)
        if cut >= 0 or start == 0:
            return data[cut + 1 : -1]
        size *= 8
    return None


def prefix_digest(fd: int, size: int) -> str:
    """The SHA-256 of the first `size` bytes: what comes later does not change it."""
    digest = hashlib.sha256()
    offset = 0
    while offset < size and (chunk := os.pread(fd, min(CHUNK, size - offset), offset)):
        digest.update(chunk)
        offset += len(chunk)
    return digest.hexdigest()
