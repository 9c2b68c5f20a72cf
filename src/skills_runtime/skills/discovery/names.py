"""Namespaces for what is found: legal in a mention, the same every time, and different for every place.

Pure.
"""

import hashlib
import re
from collections.abc import Sequence

_ODD = re.compile("[^a-z0-9]+")
_SEGMENT_CHARS = 64
_MAX_INNER = 4
"""How many directories of a path a namespace tells; it has seven segments, and three say what kind it is."""


def segment(text: str) -> str:
    """The text as one segment of a namespace."""
    plain = _ODD.sub("-", text.lower()).strip("-")[:_SEGMENT_CHARS].strip("-")
    if len(plain) >= 2:
        return plain
    return f"x-{plain}" if plain else f"x-{_short_digest(text)}"


def project_namespace(kind: str, inner: Sequence[str]) -> str:
    """The namespace of a directory of skills in a project; `inner` leads to it from the root of the project."""
    parts = ["project", *([kind] if kind else [])]
    if not inner:
        return ":".join(parts)
    shown = [segment(each) for each in inner]
    if len(shown) > _MAX_INNER:
        shown = [_short_digest("/".join(inner[: 1 - _MAX_INNER])), *shown[1 - _MAX_INNER :]]
    return ":".join([*parts, "in", *shown])


def _short_digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:8]
