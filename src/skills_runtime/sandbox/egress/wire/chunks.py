"""Bodies in chunks: sizes only, since extensions and trailers are where two readings of a body begin."""

import re

from skills_runtime.sandbox.egress.values import Parsed, Refused, Wanting

_SIZE = re.compile(rb"[0-9A-Fa-f]{1,8}")
_END = b"\r\n"


def parse_chunk_size(data: bytes) -> Parsed[int] | Wanting | Refused:
    """The size that stands before a chunk; zero is the last one."""
    found = _SIZE.match(data)
    if data and not found:
        return Refused("request_invalid", "a chunk of the body does not begin with its size")
    used = found.end() if found else 0
    ending = data[used : used + len(_END)]
    if not _END.startswith(ending):
        return Refused("request_invalid", "the size of a chunk is followed by something else, or is too long")
    if ending != _END or not found:
        return Wanting()
    return Parsed(int(found[0], 16), used + len(_END))


def parse_chunk_end(data: bytes) -> Parsed[int] | Wanting | Refused:
    """The line end that stands behind the bytes of a chunk."""
    return _line_end(data, "a chunk of the body is longer or shorter than its size says")


def parse_last_line(data: bytes) -> Parsed[int] | Wanting | Refused:
    """The empty line that ends the body."""
    return _line_end(data, "the body has headers at its end")


def _line_end(data: bytes, problem: str) -> Parsed[int] | Wanting | Refused:
    ending = data[: len(_END)]
    if not _END.startswith(ending):
        return Refused("request_invalid", problem)
    return Parsed(0, len(_END)) if ending == _END else Wanting()
