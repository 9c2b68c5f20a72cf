"""Reads the plainest of front matters without a parser: most skills have one, and there may be thousands of them.

Pure. It takes only what cannot mean anything else in YAML, and leaves everything else to the parser.
"""

import re
from typing import Any

_CHUNK = re.compile(r"(([A-Za-z_][A-Za-z0-9_-]{0,63}):(?: (.*))?\n((?:[ -].*\n)*+)\n*+)")
"""All of a field, its key, what stands beside the key, and the lines below it."""
_VALUE = re.compile(r""""([^"\\]*)"|'([^']*)'|([\w(/$<.~+].*)""")
_BLOCKS = {">": (" ", "\n"), ">-": (" ", ""), "|": ("\n", "\n"), "|-": ("\n", "")}
"""What comes between the lines of a block of text, and after them."""


def simple_fields(text: str) -> dict[str, Any] | None:
    """The fields of a front matter that needs no parser, or nothing for any other."""
    plain = text.replace("\r\n", "\n") if "\r" in text else text
    if not plain.replace("\n", "").isprintable():
        return None
    return _mapping(plain.strip("\n") + "\n", may_nest=True) if plain.strip("\n") else {}


def _mapping(text: str, *, may_nest: bool) -> dict[str, Any] | None:
    """The fields of a text whose last line ends, if that is all there is in it."""
    fields: dict[str, Any] = {}
    rest = len(text)
    for whole, key, beside, below in _CHUNK.findall(text):
        rest -= len(whole)
        value = _scalar(beside.strip(" ")) if not below else _below(beside.strip(" "), below) if may_nest else None
        if value is None or key in fields:
            return None
        fields[key] = value
    return fields if rest == 0 else None


def _below(beside: str, below: str) -> Any:
    """What the lines below a key amount to, if they are all at one depth."""
    depth = len(below) - len(below.lstrip(" "))
    outer = f"\n{below}"
    count, inner = below.count("\n"), outer.replace("\n" + " " * depth, "\n")
    if (depth and outer.count("\n" + " " * depth) < count) or "\n " in inner or "\n\n" in inner:
        return None
    if beside in _BLOCKS and depth:
        between, after = _BLOCKS[beside]
        return None if " \n" in inner else inner[1:-1].replace("\n", between) + after
    if beside:
        return None
    if inner.count("\n- ") == count:
        items = [_scalar(item.strip(" ")) for item in inner[3:-1].split("\n- ")]
        return items if all(items) else None
    return _mapping(inner[1:], may_nest=False) if depth else None


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
