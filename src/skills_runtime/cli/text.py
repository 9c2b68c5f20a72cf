"""Numbers, times and text as people read them, and the two plain ways to write to stdout.

Imports nothing slow: help pages and errors use it too.
"""

import re
import sys
from datetime import datetime
from typing import Any

from skills_runtime.text import readable

APPROVAL = "approval_"
"""How the id of every request for approval begins."""
_SHOWN_APPROVAL_CHARS = 8
_GENERATED_RUN = re.compile(r"run_([0-9a-f]{12})[0-9a-f]{20}")


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


def write_answer(text: str) -> None:
    """Write the answer, if there is one."""
    if text:
        write_text(text if text.endswith("\n") else f"{text}\n")


def write_text(text: str) -> None:
    """Write text that may come from a model."""
    sys.stdout.write(readable(text))


def write_json(value: Any) -> None:
    """Write a value as JSON with line breaks."""
    import msgspec  # slow to import, and only JSON needs it

    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value)).decode() + "\n")


def short_id(run_id: str) -> str:
    """An id as people read and type it: of a generated one the part that tells its time, of a chosen one all of it."""
    generated = _GENERATED_RUN.fullmatch(run_id)
    return generated[1] if generated else run_id


def short_approval(approval_id: str) -> str:
    """The id of a request as people read and type it."""
    return approval_id.removeprefix(APPROVAL)[:_SHOWN_APPROVAL_CHARS]
