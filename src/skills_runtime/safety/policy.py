"""The gate's decision on one call. Pure: no rule means ask."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Literal

import msgspec

from skills_runtime.events import canonical_json
from skills_runtime.ports import Effect

SafetyMode = Literal["allow", "ask", "deny"]


class Allow(msgspec.Struct, frozen=True):
    """The call may run."""

    rule: str


class Ask(msgspec.Struct, frozen=True):
    """Somebody must decide."""

    rule: str


class Deny(msgspec.Struct, frozen=True):
    """The call must not run."""

    rule: str


def decide(effect: Effect, mode: SafetyMode) -> Allow | Ask | Deny:
    """What `safety.mode` says about a call with this effect."""
    if mode == "deny":
        return Deny("safety.mode: deny")
    if mode == "allow":
        return Allow("safety.mode: allow")
    if effect == "read":
        return Allow("safety.mode: ask lets tools read")
    return Ask("safety.mode: ask")


def approval_key(tool: str, sanitized_request: Mapping[str, Any]) -> str:
    """The name of a request: a changed request has a changed key."""
    return sha256(canonical_json({"tool": tool, "request": dict(sanitized_request)})).hexdigest()
