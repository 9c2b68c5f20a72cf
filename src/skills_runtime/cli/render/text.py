"""Text that is safe to show: nothing from a model or a tool can move the cursor or pretend to be us.

Pure: from text to text.
"""

import unicodedata
from datetime import datetime

_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_KEPT = frozenset("\n\t\u200c\u200d")
"""Line breaks, and the joiners that some scripts and emoji are written with."""


def neutral(text: str) -> str:
    """The text with control, escape, direction and other invisible characters shown instead of obeyed."""
    if text.isprintable():
        return text
    return "".join(map(_shown, text.replace("\r\n", "\n")))


def one_line(text: str) -> str:
    """The same, on one line."""
    return " ".join(neutral(text).split())


def _shown(character: str) -> str:
    if character in _KEPT or unicodedata.category(character) not in _HIDDEN_CATEGORIES:
        return character
    return character.encode("unicode_escape").decode()


def duration(milliseconds: float | None) -> str:
    """A span of time as people say it."""
    if milliseconds is None:
        return "-"
    if milliseconds < 1000:
        return f"{milliseconds:.0f} ms"
    seconds = milliseconds / 1000
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {seconds:02d} s"


def age(milliseconds: float | None) -> str:
    """A span of time in one number, for tables."""
    if milliseconds is None:
        return "-"
    seconds = max(milliseconds, 0) / 1000
    for unit, size in (("day", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            number = int(seconds / size + 0.5)
            return plural(number, unit) if unit == "day" else f"{number} {unit}"
    return f"{int(seconds)} s"


def count(number: int) -> str:
    """A number, short."""
    if number < 1000:
        return str(number)
    return f"{number / 1e3:.1f}k" if number < 999_950 else f"{number / 1e6:.1f}M"


def money(dollars: float) -> str:
    """What something cost; small amounts are not rounded away."""
    return f"${dollars:.2f}" if dollars >= 0.1 else f"${dollars:.4f}"


def plural(number: int, noun: str) -> str:
    """`1 step`, `2 steps`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def between(start: str | None, end: str | None) -> float | None:
    """Milliseconds between two timestamps of a log."""
    begun, ended = _parsed(start), _parsed(end)
    return (ended - begun).total_seconds() * 1000 if begun and ended else None


def local_time(timestamp: str | None, *, form: str = "%Y-%m-%d %H:%M") -> str:
    """A timestamp of a log in the time of whoever reads it."""
    at = _parsed(timestamp)
    return at.astimezone().strftime(form) if at else "-"


def _parsed(timestamp: str | None) -> datetime | None:
    try:
        at = datetime.fromisoformat(timestamp or "")
    except ValueError:
        return None
    return at if at.tzinfo else None
