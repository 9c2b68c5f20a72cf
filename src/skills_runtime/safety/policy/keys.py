"""The name of a request, under which it is approved and refused."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import msgspec

from skills_runtime.errors import ValidationFailed
from skills_runtime.events import canonical_json


def approval_key(tool: str, sanitized_request: Mapping[str, Any]) -> str:
    """The name of a request: a changed request has a changed key."""
    request = {"tool": tool, "request": dict(sanitized_request)}
    try:
        return sha256(canonical_json(request)).hexdigest()
    except ValidationFailed:  # a model may write numbers that have no canonical form
        return sha256(b"exact\n" + msgspec.json.encode(request, order="sorted")).hexdigest()
