"""Reads the plainest of front matters without a parser: most skills have one, and there may be thousands of them.

Pure. It takes only what cannot mean anything else in YAML, and leaves everything else to the parser.
"""

import re
from typing import Any

_LINE = re.compile(
    r"""(?P<indent>[ ]{0,8})(?P<key>[A-Za-z_][A-Za-z0-9_-]{0,63}):
    (?:[ ]{1,8}(?:"(?P<double>[^"\\]*)"|'(?P<single>[^']*)'|(?P<plain>[\w(/$<.~+].*)))?[ ]*""",
    re.VERBOSE,
)


def simple_fields(text: str) -> dict[str, Any] | None:
    """The fields of a front matter of plain lines and at most one level below them, or nothing for any other."""
    fields: dict[str, Any] = {}
    target = fields
    depth, last = 0, ""
    for line in text.replace("\r\n", "\n").split("\n"):
        if not line:
            continue
        match = _LINE.fullmatch(line)
        if match is None or not line.isprintable():
            return None
        indent, key, double, single, plain = match.groups()
        if not indent:
            target, depth, last = fields, 0, key if match.lastgroup == "key" else ""
        elif last and not depth:
            fields[last] = target = {}
            depth = len(indent)
        if len(indent) != depth or key in target or (plain and _means_more(plain)):
            return None
        target[key] = plain.rstrip(" ") if plain else double or single or ""
    return fields


def _means_more(plain: str) -> bool:
    """Whether a plain text has something in it that YAML would make a mapping or a comment of."""
    return ": " in plain or " #" in plain or plain.rstrip(" ")[-1] == ":"
