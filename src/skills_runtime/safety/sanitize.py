"""What events may show of a call: everything but the contents a tool declares hidden, and those it never declared."""

import hashlib
import hmac
from collections.abc import Collection, Mapping
from typing import Any, cast

import msgspec

from skills_runtime.ports import ToolSpec


class Fingerprint(msgspec.Struct, frozen=True):
    """How hidden values are named; with a secret nobody can find a short one again by trying."""

    secret: bytes = b""

    def of(self, value: Any) -> dict[str, Any]:
        """The size and the digest of a value, and of environment variables their names."""
        data = _exact(value)
        kind = {} if isinstance(value, str) else {"type": type(value).__name__}
        if not self.secret:
            return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(), **kind}
        return {"bytes": len(data), "hmac_sha256": hmac.digest(self.secret, data, "sha256").hex(), **kind}

    def of_variables(self, variables: Mapping[str, Any]) -> dict[str, Any]:
        """The names of variables; of their values, which may be short, no digest that others could try to find."""
        shown = self.of(dict(variables))
        shown.pop("sha256", None)
        return {"keys": sorted(variables), **shown}


PLAIN = Fingerprint()
VARIABLES = "env"
"""The argument in which tools take environment variables."""


def sanitize(spec: ToolSpec | None, arguments: Mapping[str, Any], fingerprint: Fingerprint = PLAIN) -> dict[str, Any]:
    """The arguments with hidden and unknown ones replaced by their size and digest; of an unknown tool, all of them."""
    declared: Any = spec.parameters.get("properties", arguments) if spec is not None else ()
    hidden = spec.hidden_arguments if spec is not None else ()
    return conceal(arguments, {name for name in arguments if name in hidden or name not in declared}, fingerprint)


def conceal(values: Mapping[str, Any], hidden: Collection[str], fingerprint: Fingerprint = PLAIN) -> dict[str, Any]:
    """The values with the hidden ones replaced by their size and digest."""
    return {name: _concealed(name, value, fingerprint) if name in hidden else value for name, value in values.items()}


def _concealed(name: str, value: Any, fingerprint: Fingerprint) -> dict[str, Any]:
    if name == VARIABLES and isinstance(value, dict):
        return fingerprint.of_variables(cast("dict[str, Any]", value))
    return fingerprint.of(value)


def _exact(value: Any) -> bytes:
    """The bytes a digest is taken of: text as it is, anything else as JSON in one order."""
    if isinstance(value, str):
        return value.encode(errors="surrogatepass")
    try:
        return msgspec.json.encode(value, order="sorted")
    except (TypeError, ValueError, UnicodeEncodeError):
        return repr(value).encode(errors="surrogatepass")
