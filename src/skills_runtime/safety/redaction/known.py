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

_BEGINNING = 5
"""Symbols that the search looks for; fewer would stop it at every other word."""
_LONGEST_BEGINNING = 512
"""More bytes than any way to write that many symbols takes."""
_LONGEST_FORM = 64
"""More bytes than any way to write one symbol takes."""

# Anything that may be one symbol or the beginning of one, and the most of it: no way to write a symbol takes more.
_SEPARATED = r"(?:[\r\n \x3a]{1,2}|\x5c{1,4}[rnx](?:\x5c{1,4}n)?)?(?:L[0-9]{0,6}\x3a?\x20?)?"
_ANY_FORM = (
    r"(?:(?:\x5c{1,8}(?:[ux]?[0-9a-fA-F]{0,4}|.)){1,4}|(?:%(?:25){0,2}[0-9a-fA-F]{0,2}){1,4}"
    r"|&(?:amp;)?[#a-zA-Z0-9]{0,14};?|\x27?\x5c{0,8}[\x22\x27]{0,2}\x5c{0,8}[\x22\x27]{0,2}|[\x80-\xff]{1,4}|.)"
)
_LAST_SYMBOLS = rf"(?s)(?:{_SEPARATED}{_ANY_FORM}){{1,{_BEGINNING}}}\z"


class Met(NamedTuple):
    """What was met at one place of a text."""

    end: int
    """Where the value ends, or -1."""
    goes_on: bool
    """Whether the text ends before it is decided."""


_NOTHING = Met(-1, goes_on=False)
_OPEN = Met(-1, goes_on=True)


class Known:
    """The values of one redactor; not to be made without any."""

    def __init__(self, values: Iterable[str]) -> None:
        self._rows = tuple(row for value in values for row in rows_of(value))
        beginnings = either(*(chain(*(symbol.pattern for symbol in row[:_BEGINNING])) for row in self._rows))
        self.expression = beginnings.whole
        self._rows_by_first: dict[int, tuple[Row, ...]] = {}
        self._search: Any = None

    def spans(self, data: bytes) -> list[tuple[int, int]]:
        """Where values stand."""
        return self._look(data, stop_at_open=False)[0]

    def spans_so_far(self, data: bytes) -> tuple[list[tuple[int, int]], int]:
        """Where values stand, and from where on it takes more of the text to tell."""
        spans, wait = self._look(data, stop_at_open=True)
        return spans, self.wait(data, spans[-1][1] if spans else 0) if wait is None else wait

    def wait(self, data: bytes, place: int = 0) -> int:
        """From where on the end of the text may be the beginning of a value's beginning."""
        match = _last_symbols(data, max(place, len(data) - _LONGEST_BEGINNING))
        start = len(data) if match is None else match.start()
        for place in range(start, len(data)):
            for row in self._rows_from(data[place]):
                if _follow(data, place, row).goes_on:
                    return place
        return len(data)

    def _look(self, data: bytes, *, stop_at_open: bool) -> tuple[list[tuple[int, int]], int | None]:
        if self._search is None:
            self._search = expression(self.expression).search
        spans: list[tuple[int, int]] = []
        place = 0
        while (match := self._search(data, place)) is not None:
            start = match.start()
            met = self._met(data, start)
            if met.goes_on and stop_at_open:
                return spans, start
            if met.end > start:
                spans.append((start, met.end))
            place = max(start + 1, met.end)
        return spans, None

    def _met(self, data: bytes, start: int) -> Met:
        met = [_follow(data, start, row) for row in self._rows_from(data[start])]
        return Met(max((one.end for one in met), default=-1), any(one.goes_on for one in met))

    def _rows_from(self, byte: int) -> tuple[Row, ...]:
        """The rows that may begin with this byte."""
        rows = self._rows_by_first.get(byte)
        if rows is None:
            rows = tuple(row for row in self._rows if byte in row[0].single or byte in row[0].leads)
            self._rows_by_first[byte] = rows
        return rows


def _follow(data: bytes, place: int, row: Row) -> Met:
    """Follow the symbols of a row through the text as far as it goes."""
    size = len(data)
    for number, symbol in enumerate(row):
        if place == size:
            return _OPEN
        byte = data[place]
        if byte in symbol.leads:
            return _follow_forms(data, place, row[number:])
        if byte not in symbol.single:
            return _NOTHING
        place += 1
    return Met(place, goes_on=False)


def _follow_forms(data: bytes, start: int, row: Row) -> Met:
    """The same where a symbol may have a longer form; two readings of the text are followed side by side."""
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


def _last_symbols(data: bytes, place: int) -> Any:
    return _last_symbols_search()(data, place)


@lru_cache(maxsize=1)
def _last_symbols_search() -> Any:
    return expression(_LAST_SYMBOLS).search


@lru_cache(maxsize=4096)
def _compiled(form: Pattern) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    return re.compile(form.whole.encode()), re.compile(form.begun.encode())
