"""A mark is a finding in the making: a code, a place, and how grave it is before its surroundings are weighed."""

import re
from collections.abc import Iterator

import msgspec

from skills_runtime.skills.security.codes import RULES
from skills_runtime.skills.security.report import Severity
from skills_runtime.skills.security.text import Text

MAX_MATCHES = 20
MAX_LINES = 4_000
REACH = 400
"""How far from its word a pattern can begin."""


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """Something a detector saw."""

    code: str
    severity: Severity
    start: int
    """Where in the text it begins."""
    end: int
    shown: str = ""
    """What to show in its place, where the text itself says nothing."""
    is_certain: bool = False
    """Whether no surroundings make it harmless."""


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """What a skill says of itself, as far as it bears on what it may do."""

    name: str = ""
    description: str = ""
    words: frozenset[str] = frozenset()
    is_about_security: bool = False


class Pattern(msgspec.Struct, frozen=True):
    """An expression, the code it stands for, and words without which it need not be tried."""

    code: str
    severity: Severity
    expression: re.Pattern[str]
    anchors: tuple[str, ...] = ()


def pattern(code: str, expression: str, *anchors: str, severity: Severity | None = None) -> Pattern:
    """A pattern that does not mind capitals."""
    return Pattern(code, severity or RULES[code].severity, re.compile(expression, re.I), anchors)


def matches(patterns: tuple[Pattern, ...], text: Text) -> Iterator[Mark]:
    """Everything the patterns find in a text as a whole."""
    for one in patterns:
        if one.anchors and not any(anchor in text.folded for anchor in one.anchors):
            continue
        for count, match in enumerate(one.expression.finditer(text.body)):
            yield Mark(code=one.code, severity=one.severity, start=match.start(), end=match.end())
            if count >= MAX_MATCHES:
                break


def line_matches(patterns: tuple[Pattern, ...], text: Text) -> Iterator[Mark]:
    """Everything the patterns find in single lines; only lines with one of their words are looked at."""
    for one in patterns:
        for count, (start, end) in enumerate(_lines(text.folded, one.anchors)):
            match = one.expression.search(text.body[start:end])
            if match:
                yield Mark(code=one.code, severity=one.severity, start=start + match.start(), end=start + match.end())
            if count >= MAX_LINES:
                break


def _lines(folded: str, anchors: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """The lines that hold one of some words, each at most once a word, cut down where they are very long."""
    seen: set[int] = set()
    for anchor in anchors:
        place = folded.find(anchor)
        while place >= 0:
            start = max(folded.rfind("\n", 0, place) + 1, place - REACH)
            end = folded.find("\n", place)
            end = min(len(folded) if end < 0 else end, place + 2 * REACH)
            if start not in seen:
                seen.add(start)
                yield start, end
            place = folded.find(anchor, max(end, place + 1))


def mark(code: str, start: int, end: int, severity: Severity | None = None, *, shown: str = "") -> Mark:
    """A mark as grave as its code says, unless something else is said."""
    return Mark(code=code, severity=severity or RULES[code].severity, start=start, end=end, shown=shown)
