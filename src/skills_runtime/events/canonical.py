"""One JSON spelling for one value, so that digests of data can be compared by anybody (RFC 8785)."""

import hashlib
from typing import Any

import rfc8785


def canonical_json(value: Any) -> bytes:
    """The canonical bytes of plain JSON data."""
    return rfc8785.dumps(value)


def fingerprint(value: Any) -> str:
    """`sha256:` and the hex digest of the canonical bytes."""
    return "sha256:" + hashlib.sha256(canonical_json(value)).hexdigest()
