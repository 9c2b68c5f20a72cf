"""Finds everything secret in a text: one pass tells whether there is anything, and only then is it looked for."""

from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

from skills_runtime.errors import ConfigError
from skills_runtime.safety.redaction.colours import COLOUR, cuts, without_colours
from skills_runtime.safety.redaction.engine import expression, expressions
from skills_runtime.safety.redaction.known import Known
from skills_runtime.safety.redaction.shapes import SHAPES
from skills_runtime.safety.redaction.text import encoded

Span = tuple[int, int]
Place = int

_COLOURS = len(SHAPES)
_ESCAPES = _COLOURS + 1
_KNOWN = _ESCAPES + 1

# JSON that escapes letters which need it not, or deeper than the patterns go: its strings have to be read to tell.
_READ_FIRST = r"\x5c{9}|(?:^|[^\x5c])(?:\x5c\x5c)*\x5cu(?:00[2-9a-fA-F]|0[1-9a-fA-F]|[1-9a-fA-F])"

WINDOW = 8192
"""How far from the end of a text the beginning of a shape is looked for; more than a stream ever holds back of one."""


class Found(NamedTuple):
    """What a text that goes on has so far."""

    spans: list[Span]
    known_wait: Place
    """From here on it may be a known value."""
    shape_wait: Place
    """From here on it may be a secret by its shape."""


class Finder:
    """Knows the values and the shapes, and finds their places in UTF-8.

    `match` is the one pass: it gives nothing if there is nothing to look for.
    """

    def __init__(self, values: Iterable[str]) -> None:
        kept = sorted(set(values))
        self._known = Known(kept) if kept else None
        every = [*(shape.whole for shape in SHAPES), COLOUR, _READ_FIRST]
        self.match = expressions([*every, self._known.expression] if self._known else every).Match
        if kept and self.match(encoded(kept[0])) is None:
            raise ConfigError("there are too many secrets to look for", hint="name fewer variables as secret")

    def touches(self, data: bytes) -> bool:
        """Whether there may be anything secret, in JSON also when its strings are read."""
        hits = self.match(data)
        if hits == [_COLOURS]:
            hits = self.match(without_colours(data).text)
        return hits is not None

    def spans(self, data: bytes) -> list[Span]:
        """Where secrets stand, in order and apart from each other."""
        hits = self.match(data)
        if hits is None:
            return []
        if _COLOURS in hits:
            plain = without_colours(data)
            return [plain.span(*span) for span in self._spans(plain.text, self.match(plain.text) or ())]
        return self._spans(data, hits)

    def found(self, data: bytes) -> Found:
        """What there is in a text that goes on."""
        found = self._found_within(data)
        for end in cuts(data):
            before = self._found_within(data[:end])
            waits = (min(one, other if other < end else one) for one, other in zip(found[1:], before[1:], strict=True))
            found = Found(found.spans, *waits)
        return found

    def _found_within(self, data: bytes) -> Found:
        hits = self.match(data) or ()
        if _COLOURS not in hits:
            return self._found(data, hits)
        plain = without_colours(data)
        found = self._found(plain.text, self.match(plain.text) or ())
        return Found(
            [plain.span(*span) for span in found.spans], plain.place(found.known_wait), plain.place(found.shape_wait)
        )

    def _spans(self, data: bytes, hits: Iterable[int]) -> list[Span]:
        known = self._known.spans(data) if self._known is not None and _KNOWN in hits else []
        return _united(known + self._shaped(data, hits))

    def _found(self, data: bytes, hits: Iterable[int]) -> Found:
        known, known_wait = [], len(data)
        if self._known is not None and _KNOWN in hits:
            known, known_wait = self._known.spans_so_far(data)
        elif self._known is not None:
            known_wait = self._known.wait(data)
        return Found(_united(known + self._shaped(data, hits)), known_wait, self._shape_wait(data))

    def _shaped(self, data: bytes, hits: Iterable[int]) -> list[Span]:
        return [span for hit in hits if hit < len(SHAPES) for span in self._spans_of(hit, data)]

    def _spans_of(self, number: int, data: bytes) -> Iterable[Span]:
        shape = SHAPES[number]
        search, place = _whole(number).search, 0
        while (match := search(data, place)) is not None:
            start, place = match.span(1)
            if shape.judge is None or shape.judge(data, start, place):
                yield start, place

    def _shape_wait(self, data: bytes) -> Place:
        tail = data[-WINDOW:]
        matches = [_begun(number).search(tail) for number in _all_begun().Match(tail) or ()]
        return min((match.start(1) for match in matches), default=len(tail)) + len(data) - len(tail)


@cache
def _whole(number: int) -> Any:
    return expression(SHAPES[number].whole)


@cache
def _begun(number: int) -> Any:
    return expression(SHAPES[number].begun)


@cache
def _all_begun() -> Any:
    return expressions([shape.begun for shape in SHAPES])


def _united(spans: list[Span]) -> list[Span]:
    """In order, with those that overlap made one."""
    united: list[Span] = []
    for start, end in sorted(spans):
        if united and start < united[-1][1]:
            united[-1] = (united[-1][0], max(united[-1][1], end))
        else:
            united.append((start, end))
    return united
