"""Patterns that can say two things of a text: that it is whole, and that it may be the beginning of one.

The second is what a stream needs, and no engine offers it; so every pattern carries both expressions from the start.
They are written for bytes, in the syntax that RE2 and `re` share.
"""

from collections.abc import Iterable
from typing import NamedTuple


class Pattern(NamedTuple):
    """One pattern as two regular expressions."""

    whole: str
    begun: str
    """Matches every beginning of what `whole` matches, nothing and everything included."""
    plain: bool = False
    """Whether every beginning of it but nothing is a whole one: then it need not be said twice."""


def literal(text: str | bytes) -> Pattern:
    """Exactly these bytes."""
    raw = text.encode() if isinstance(text, str) else text
    return chain(*(one(_byte(byte)) for byte in raw))


def one(kind: str) -> Pattern:
    """One byte of a kind, which is a class or a single character."""
    return Pattern(kind, f"{kind}?", plain=True)


def many(kind: str, least: int, most: int | None = None) -> Pattern:
    """As many bytes of a kind as there are, within bounds."""
    end = "" if most is None else most
    return Pattern(f"{kind}{{{least},{end}}}", f"{kind}{{0,{end}}}", plain=least <= 1)


def optional(part: Pattern) -> Pattern:
    """The part, or nothing."""
    return Pattern(f"(?:{part.whole})?", part.begun)


def repeated(part: Pattern) -> Pattern:
    """The part any number of times."""
    return Pattern(f"(?:{part.whole})*", f"(?:{part.whole})*{part.begun}")


def either(*parts: Pattern) -> Pattern:
    """Any one of the parts."""
    if len(parts) == 1:
        return parts[0]
    return Pattern(
        "(?:" + "|".join(part.whole for part in parts) + ")", "(?:" + "|".join(part.begun for part in parts) + ")"
    )


def chain(*parts: Pattern) -> Pattern:
    """One part after the other."""
    begun = parts[-1].begun if parts else ""
    for part in reversed(parts[:-1]):
        begun = f"(?:{part.whole}{begun})?" if part.plain else f"(?:{part.begun}|{part.whole}{begun})"
    return Pattern("".join(part.whole for part in parts), begun)


def any_of(members: Iterable[int]) -> str:
    """The kind that has these bytes for members."""
    return "[" + "".join(sorted(_byte(byte) for byte in members)) + "]"


def _byte(byte: int) -> str:
    return chr(byte) if chr(byte).isascii() and chr(byte).isalnum() else f"\\x{byte:02x}"
