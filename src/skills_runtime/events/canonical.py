"""One JSON spelling for one value, so that digests of data can be compared by anybody (RFC 8785)."""

import hashlib
from typing import Any

from skills_runtime.errors import ValidationFailed


def canonical_json(value: Any) -> bytes:
    """The canonical bytes of plain JSON data."""
    import rfc8785

    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, RecursionError) as error:
        raise ValidationFailed(
            f"a value has no canonical JSON form: {error}",
            hint="use integers below 2**53, finite numbers and valid text",
        ) from error


def fingerprint(value: Any) -> str:
    """`sha256:` and the hex digest of the canonical bytes."""
    return "sha256:" + hashlib.sha256(canonical_json(value)).hexdigest()
