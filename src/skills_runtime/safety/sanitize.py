"""What events may show of a call: everything but the contents a tool declares hidden."""

import hashlib
from collections.abc import Mapping
from typing import Any

from skills_runtime.ports import ToolSpec


def sanitize(spec: ToolSpec, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with hidden ones replaced by their size and digest."""
    return {name: _fingerprint(value) if name in spec.hidden_arguments else value for name, value in arguments.items()}


def _fingerprint(value: Any) -> dict[str, Any]:
    data = str(value).encode(errors="surrogatepass")
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
