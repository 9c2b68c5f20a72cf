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
        if not self.secret:
            return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        return {"bytes": len(data), "hmac_sha256": hmac.digest(self.secret, data, "sha256").hex()}


PLAIN = Fingerprint()


def sanitize(spec: ToolSpec | None, arguments: Mapping[str, Any], fingerprint: Fingerprint = PLAIN) -> dict[str, Any]:
    """The arguments with hidden and unknown ones replaced by their size and digest; of an unknown tool, all of them."""
    declared: Any = spec.parameters.get("properties", arguments) if spec is not None else ()
    hidden = spec.hidden_arguments if spec is not None else ()
    return conceal(arguments, {name for name in arguments if name in hidden or name not in declared}, fingerprint)


def conceal(values: Mapping[str, Any], hidden: Collection[str], fingerprint: Fingerprint = PLAIN) -> dict[str, Any]:
    """The values with the hidden ones replaced by their size and digest."""
    return {name: fingerprint.of(value) if name in hidden else value for name, value in values.items()}


def _exact(value: Any) -> bytes:
    """The bytes a digest is taken of: text as it is, anything else in one order."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        value = {name: fields[name] for name in sorted(fields)}
    return str(value).encode(errors="surrogatepass")
