"""Reads the plainest of front matters without a parser: most skills have one, and there may be thousands of them.

Pure. It takes only what cannot mean anything else in YAML, and leaves everything else to the parser.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

_KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_-]{0,63}):(?: (.*))?")
_VALUE = re.compile(r""""([^"\\]*)"|'([^']*)'|([\w(/$<.~+].*)""")
_BLOCKS = {">": (" ", "\n"), ">-": (" ", ""), "|": ("\n", "\n"), "|-": ("\n", "")}
"""What comes between the lines of a block of text, and after them."""

_Chunk = tuple[str, str, list[str]]
"""A key, what stands beside it, and the lines below it."""


def simple_fields(text: str) -> dict[str, Any] | None:
    """The fields of a front matter that needs no parser, or nothing for any other."""
    lines = text.replace("\r\n", "\n").split("\n")
    return _mapping(lines, _below) if "".join(lines).isprintable() else None


def _mapping(lines: Sequence[str], below: Callable[[str, Sequence[str]], Any]) -> dict[str, Any] | None:
    chunks = _chunks(lines)
    if chunks is None:
        return None
    fields: dict[str, Any] = {}
    for key, beside, more in chunks:
        value = below(beside, more) if more else _scalar(beside)
        if value is None or key in fields:
            return None
        fields[key] = value
    return fields


def _chunks(lines: Sequence[str]) -> list[_Chunk] | None:
    chunks: list[_Chunk] = []
    gap = False
    for line in lines:
        if not line:
            gap = True
        elif line[0] in " -":
            if gap or not chunks:
                return None
            chunks[-1][2].append(line)
        else:
            match = _KEY.fullmatch(line)
            if match is None:
                return None
            chunks.append((match[1], (match[2] or "").strip(" "), []))
            gap = False
    return chunks


def _below(beside: str, more: Sequence[str]) -> Any:
    """What the lines below a key amount to, if they are all at one depth."""
    depth = len(more[0]) - len(more[0].lstrip(" "))
    margin = " " * depth
    lines = [line[depth:] for line in more if line.startswith(margin)]
    if len(lines) < len(more) or any(not line or line[0] == " " for line in lines):
        return None
    if beside in _BLOCKS and depth:
        between, after = _BLOCKS[beside]
        return None if any(line[-1] == " " for line in lines) else between.join(lines) + after
    if beside:
        return None
    if all(line.startswith("- ") for line in lines):
        items = [_scalar(line[2:].strip(" ")) for line in lines]
        return items if all(items) else None
    return _mapping(lines, _too_deep) if depth else None


def _too_deep(beside: str, more: Sequence[str]) -> None:
    """What lies deeper is for the parser."""
    del beside, more


def _scalar(text: str) -> str | None:
    """A text that means nothing but itself."""
    if not text:
        return ""
    match = _VALUE.fullmatch(text)
    if match is None:
        return None
    double, single, plain = match.groups()
    if plain is None:
        return double or single or ""
    return None if ": " in plain or " #" in plain or plain[-1] == ":" else plain
