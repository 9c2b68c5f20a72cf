"""Finds values that are known, in every way to write them.

A regular expression knows how each way begins; from there on the symbols are followed one by one. So a value of any
length costs the search no more than a short one, and at the end of a text it is plain whether a value may go on.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from skills_runtime.safety.redaction.encodings import Row, Symbol, rows_of
from skills_runtime.safety.redaction.engine import expression
from skills_runtime.safety.redaction.pattern import Pattern, chain, either

_BEGINNING = 6
"""Symbols that the search looks for; fewer would stop it at every other word."""
_LONGEST_BEGINNING = 512
"""More bytes than any way to write that many symbols takes."""
_LONGEST_FORM = 64
"""More bytes than any way to write one symbol takes."""


class Met(NamedTuple):
    """What was met at one place of a text."""

    end: int
    """Where the value ends, or -1."""
    goes_on: bool
    """Whether the text ends before it is decided."""


class Known:
    """The values of one redactor; not to be made without any."""

    def __init__(self, values: Iterable[str]) -> None:
        self._rows = tuple(row for value in values for row in rows_of(value))
        beginnings = either(*(chain(*(symbol.pattern for symbol in row[:_BEGINNING])) for row in self._rows))
        self.expression = beginnings.whole
        self._begun = beginnings.begun
        self._rows_by_first: dict[int, tuple[Row, ...]] = {}
        self._search: Any = None
        self._search_begun: Any = None

    def spans(self, data: bytes, *, more: bool) -> tuple[list[tuple[int, int]], int]:
        """Where values stand, and from where on the text must wait for more of it."""
        if self._search is None:
            self._search = expression(self.expression).search
        spans: list[tuple[int, int]] = []
        place = 0
        while (match := self._search(data, place)) is not None:
            start = match.start()
            met = self._met(data, start)
            if met.goes_on and more:
                return spans, start
            if met.end > start:
                spans.append((start, met.end))
            place = max(start + 1, met.end)
        return spans, self._waits(data, place) if more else len(data)

    def waits(self, data: bytes, place: int) -> int:
        """From where on the end of the text may be the beginning of a value."""
        return self._waits(data, place)

    def _waits(self, data: bytes, place: int) -> int:
        if self._search_begun is None:
            self._search_begun = expression(rf"(?:{self._begun})\z").search
        return self._search_begun(data, max(place, len(data) - _LONGEST_BEGINNING)).start()

    def _met(self, data: bytes, start: int) -> Met:
        first = data[start]
        rows = self._rows_by_first.get(first)
        if rows is None:
            rows = tuple(row for row in self._rows if first in row[0].single or first in row[0].leads)
            self._rows_by_first[first] = rows
        met = [_follow(data, start, row) for row in rows]
        return Met(max((one.end for one in met), default=-1), any(one.goes_on for one in met))


def _follow(data: bytes, start: int, row: Row) -> Met:
    """Follow the symbols of a row through the text as far as it goes; two readings of it are followed side by side."""
    places, goes_on = {start}, False
    for symbol in row:
        following: set[int] = set()
        for place in places:
            if place == len(data):
                goes_on = True
                continue
            byte = data[place]
            if byte in symbol.single:
                following.add(place + 1)
            if byte in symbol.leads:
                goes_on |= _longer_forms(data, place, symbol, following)
        if not following:
            return Met(-1, goes_on)
        places = following
    return Met(max(places), goes_on)


def _longer_forms(data: bytes, place: int, symbol: Symbol, ends: set[int]) -> bool:
    """Add where the longer forms of a symbol end; whether one of them is cut off by the end of the text."""
    near_end = len(data) - place < _LONGEST_FORM
    cut = False
    for form in symbol.others:
        whole, begun = _compiled(form)
        if (match := whole.match(data, place)) is not None:
            ends.add(match.end())
        elif near_end and begun.fullmatch(data, place) is not None:
            cut = True
    return cut


@lru_cache(maxsize=4096)
def _compiled(form: Pattern) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    return re.compile(form.whole.encode()), re.compile(form.begun.encode())
