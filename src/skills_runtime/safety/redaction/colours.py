"""Text without the colours of a terminal, which a program may put into the middle of a word."""

import re
from bisect import bisect_right
from typing import NamedTuple

from skills_runtime.safety.redaction.pattern import chain, either, literal, many, one

_BEGIN = either(
    one(r"\x1b"),
    chain(
        many(r"\x5c", 1, 8),
        either(chain(literal("u001"), one("[bB]")), chain(literal("x1"), one("[bB]")), literal("033"), literal("e")),
    ),
)
_COLOUR = chain(_BEGIN, one(r"\x5b"), many("[0-9;:?]", 0, 32), one("[A-Za-z]"))

COLOUR = _BEGIN.whole + r"\x5b"
"""How a colour begins, as it is or escaped."""

_WHOLE = re.compile(_COLOUR.whole.encode())
_CUT_OFF = re.compile(rb"(?=[\x1b\\])" + _COLOUR.begun.encode() + rb"\Z")
_LONGEST = 64


class Plain(NamedTuple):
    """A text without colours that knows where each of its bytes came from."""

    text: bytes
    starts: list[int]
    """Where each uncoloured stretch begins in the text."""
    origins: list[int]
    """Where each uncoloured stretch begins in the coloured one."""

    def place(self, place: int) -> int:
        """Where a place of the text is in the coloured one."""
        stretch = bisect_right(self.starts, place) - 1
        return place - self.starts[stretch] + self.origins[stretch]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where a span is in the coloured text, without colours around it."""
        return self.place(start), self.place(end - 1) + 1


def without_colours(data: bytes) -> Plain:
    """The text with its colours taken out."""
    pieces: list[bytes] = []
    starts, origins = [0], [0]
    for match in _WHOLE.finditer(data):
        run = len(match[0]) - len(match[0].lstrip(b"\\"))
        # Escaped once, twice, three times, a colour has one, two, four backslashes; any more are the text's own.
        piece = data[origins[-1] : match.start() + run - (run & -run)]
        pieces.append(piece)
        if piece or len(starts) == 1:
            starts.append(starts[-1] + len(piece))
            origins.append(match.end())
        else:
            origins[-1] = match.end()
    pieces.append(data[origins[-1] :])
    return Plain(b"".join(pieces), starts, origins)


def cuts(data: bytes) -> range:
    """Where a colour may begin that the end of the text has cut off; which backslash is its first is still open."""
    match = _CUT_OFF.search(data, max(0, len(data) - _LONGEST))
    if match is None:
        return range(0)
    run = len(match[0]) - len(match[0].lstrip(b"\\"))
    return range(match.start(), match.start() + max(1, run))
