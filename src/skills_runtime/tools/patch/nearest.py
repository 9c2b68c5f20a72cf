"""What in a file comes nearest to lines that were not found, in words for the author of a patch."""

import difflib
from collections import Counter
from collections.abc import Sequence

MAX_LINES = 2000
MAX_CHARS = 120
MAX_PLACES = 50
SHOWN_LINES = 6


def nearest(lines: Sequence[bytes], wanted: Sequence[bytes]) -> str:
    """One sentence and a few numbered lines of the file."""
    if not lines:
        return "the file is empty"
    start = _most_alike(lines, wanted)
    if start is None:
        return f"no line is like `{_text(_first_telling(wanted))}`"
    for index, line in enumerate(wanted):
        place = start + index
        found = _text(lines[place]) if 0 <= place < len(lines) else None
        if found != _text(line):
            there = "the file ends" if found is None else f"the file has `{found}`"
            return f"at line {place + 1} {there} where the patch has `{_text(line)}`\n{_numbered(lines, start)}"
    return f"line {start + 1} comes nearest\n{_numbered(lines, start)}"


def _most_alike(lines: Sequence[bytes], wanted: Sequence[bytes]) -> int | None:
    """Where most of the wanted lines stand where they should; else where a line is like the first telling one."""
    places: dict[bytes, list[int]] = {}
    for number, line in enumerate(lines):
        found = places.setdefault(line.strip(), [])
        if len(found) < MAX_PLACES:
            found.append(number)
    votes = Counter(
        place - index
        for index, line in enumerate(wanted)
        if line.strip()
        for place in places.get(line.strip(), ())
        if place >= index
    )
    if votes:
        return min(votes, key=lambda start: (-votes[start], start))
    return _like(lines, wanted)


def _like(lines: Sequence[bytes], wanted: Sequence[bytes]) -> int | None:
    telling = _first_telling(wanted)
    texts = [_text(line) for line in lines[:MAX_LINES]]
    close = difflib.get_close_matches(_text(telling), texts, n=1)
    return max(texts.index(close[0]) - list(wanted).index(telling), 0) if close else None


def _first_telling(wanted: Sequence[bytes]) -> bytes:
    return next((line for line in wanted if line.strip()), wanted[0])


def _numbered(lines: Sequence[bytes], start: int) -> str:
    shown = range(max(start - 1, 0), min(start + SHOWN_LINES, len(lines)))
    return "\n".join(f"L{number + 1}: {_text(lines[number])}" for number in shown)


def _text(line: bytes) -> str:
    text = line.rstrip(b"\r\n").decode(errors="replace")
    return text if len(text) <= MAX_CHARS else f"{text[:MAX_CHARS]}…"
