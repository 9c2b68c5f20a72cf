"""Sanitize the arguments of a call for events: hide what a tool declares hidden, and undeclared arguments."""

import hashlib
import hmac
from collections.abc import Collection, Mapping
from typing import Any, cast

import msgspec

from skills_runtime.ports import ToolSpec


class Fingerprint(msgspec.Struct, frozen=True):
    """Describes hidden values by size and digest; keyed, so that short values cannot be guessed."""

    secret: bytes = b""

    def of(self, value: Any) -> dict[str, Any]:
        """Return the size and digest of a value, and the names of environment variables."""
        try:
            data = value.encode(errors="surrogatepass") if isinstance(value, str) else _encode_sorted(value)
        except (TypeError, ValueError):  # what has no JSON
            data = repr(value).encode(errors="surrogatepass")
        kind = {} if isinstance(value, str) else {"type": type(value).__name__}
        if not self.secret:
            return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(), **kind}
        return {"bytes": len(data), "hmac_sha256": hmac.digest(self.secret, data, "sha256").hex(), **kind}

    def of_variables(self, variables: Mapping[str, Any]) -> dict[str, Any]:
        """Return the names of variables without digests of their values, which may be short enough to guess."""
        visible = self.of(dict(variables))
        visible.pop("sha256", None)
        return {"keys": sorted(variables), **visible}


_encode_sorted = msgspec.json.Encoder(order="sorted").encode
PLAIN_FINGERPRINT = Fingerprint()
VARIABLES = "env"
"""The argument with environment variables."""


def sanitize(
    spec: ToolSpec | None, arguments: Mapping[str, Any], fingerprint: Fingerprint = PLAIN_FINGERPRINT
) -> dict[str, Any]:
    """Replace hidden and unknown arguments by their size and digest; all arguments of an unknown tool."""
    declared: Any = spec.parameters.get("properties", arguments) if spec is not None else ()
    hidden = spec.hidden_arguments if spec is not None else ()
    return conceal(arguments, {name for name in arguments if name in hidden or name not in declared}, fingerprint)


def conceal(
    values: Mapping[str, Any], hidden: Collection[str], fingerprint: Fingerprint = PLAIN_FINGERPRINT
) -> dict[str, Any]:
    """Replace the hidden values by their size and digest."""
    visible: dict[str, Any] = {}
    for name, value in values.items():
        if name not in hidden:
            visible[name] = value
        elif name == VARIABLES and isinstance(value, dict):
            visible[name] = fingerprint.of_variables(cast("dict[str, Any]", value))
        else:
            visible[name] = fingerprint.of(value)
    return visible
