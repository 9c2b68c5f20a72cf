"""What a text must be like before anybody tries to understand it as a command."""

import re

MAX_CHARACTERS = 64 * 1024
MAX_BRACKETS = 1_000
"""The parser needs time that grows with the square of these when they do not match."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff\ud800-\udfff]"
)
_BRACKETS = re.compile(r"[(\[{<|`]")


def flaw_of(text: str) -> str:
    """Why this text is not even tried, or nothing when it can be."""
    if len(text) > MAX_CHARACTERS:
        return "the command is too long to be read"
    if _CONTROL.search(text):
        return "the command holds control characters"
    if not text.isascii() and _INVISIBLE.search(text):
        return "the command holds characters that cannot be seen"
    if len(text) > MAX_BRACKETS and len(_BRACKETS.findall(text)) > MAX_BRACKETS:
        return "the command is too tangled to be read"
    return ""


def shortened(text: str, limit: int = 120) -> str:
    """The beginning of a text, on one line, for people."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def names(text: str) -> frozenset[str]:
    """A set of names, written as a text so that a table stays a table."""
    return frozenset(text.split())
