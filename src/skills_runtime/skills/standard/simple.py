"""Reads the plainest of front matters without a parser: most skills have one, and there may be thousands of them.

Pure. It takes only what cannot mean anything else in YAML, and leaves everything else to the parser.
"""

import re
from typing import Any

_LINE = re.compile(
    r"""(?P<indent>[ ]{0,8})(?P<key>[A-Za-z_][A-Za-z0-9_-]{0,63}):
    (?:[ ]{1,8}(?:"(?P<double>[^"\\]*)"|'(?P<single>[^']*)'|(?P<plain>[\w(/$<.~+].*?)))?[ ]*""",
    re.VERBOSE,
)


def simple_fields(text: str) -> dict[str, Any] | None:
    """The fields of a front matter of plain lines and at most one level below them, or nothing for any other."""
    fields: dict[str, Any] = {}
    inner: dict[str, Any] | None = None
    depth, last = 0, ""
    for line in text.replace("\r\n", "\n").split("\n"):
        if not line:
            continue
        match = _LINE.fullmatch(line)
        if match is None or not line.isprintable():
            return None
        indent, key, double, single, plain = match.groups()
        if plain is not None and (": " in plain or " #" in plain or plain[-1] == ":"):
            return None
        value = plain or double or single or ""
        if not indent:
            target, inner, last = fields, None, key if match.lastgroup == "key" else ""
        else:
            if inner is None:
                if not last:
                    return None
                inner, depth = {}, len(indent)
                fields[last] = inner
            if len(indent) != depth:
                return None
            target = inner
        if key in target:
            return None
        target[key] = value
    return fields
