"""What events may show of a call: everything but the contents a tool declares hidden, and those it never declared."""

import hashlib
from collections.abc import Collection, Mapping
from typing import Any

from skills_runtime.ports import ToolSpec


def sanitize(spec: ToolSpec | None, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with hidden and unknown ones replaced by their size and digest; of an unknown tool, all of them."""
    declared: Any = spec.parameters.get("properties", arguments) if spec is not None else ()
    hidden = spec.hidden_arguments if spec is not None else ()
    return conceal(arguments, {name for name in arguments if name in hidden or name not in declared})


def conceal(values: Mapping[str, Any], hidden: Collection[str]) -> dict[str, Any]:
    """The values with the hidden ones replaced by their size and digest."""
    return {name: _fingerprint(value) if name in hidden else value for name, value in values.items()}


def _fingerprint(value: Any) -> dict[str, Any]:
    data = str(value).encode(errors="surrogatepass")
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
