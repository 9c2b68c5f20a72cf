"""Reading a log as bytes: complete lines with their offsets, in bounded memory."""

import os
from collections.abc import Iterator
from typing import NamedTuple

CHUNK = 1 << 20


class Line(NamedTuple):
    """One line without its newline; `complete` says whether the newline was there."""

    offset: int
    data: bytes
    complete: bool


def read_lines(fd: int, offset: int = 0, *, end: int | None = None) -> Iterator[Line]:
    """The lines from `offset` on; the last may be incomplete."""
    rest = b""
    start = offset
    while chunk := os.pread(fd, CHUNK if end is None else min(CHUNK, end - offset), offset):
        offset += len(chunk)
        pieces = (rest + chunk).split(b"\n")
        rest = pieces.pop()
        for piece in pieces:
            yield Line(start, piece, complete=True)
            start += len(piece) + 1
    if rest:
        yield Line(start, rest, complete=False)


def line_before(fd: int, offset: int) -> bytes | None:
    """The complete line that ends at `offset`, or None when no line ends there."""
    size = 4096
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
