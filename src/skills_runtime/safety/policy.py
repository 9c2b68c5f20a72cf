"""The gate's decision on one call.

Pure: no rule means ask.
"""

from collections.abc import Collection, Mapping
from hashlib import sha256
from typing import Any, Literal

import msgspec

from skills_runtime.errors import ValidationFailed
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


def decide(
    effect: Effect, mode: SafetyMode, *, tool: str = "", allowed: Collection[str] = (), denied: Collection[str] = ()
) -> Allow | Ask | Deny:
    """What the rules say about a call of a tool with this effect: deny beats allow beats ask."""
    if tool in denied:
        return Deny("safety.tool_denylist")
    if mode == "deny":
        return Deny("safety.mode: deny")
    if tool in allowed:
        return Allow("safety.tool_allowlist")
    if mode == "allow":
        return Allow("safety.mode: allow")
    if effect == "read":
        return Allow("safety.mode: ask lets tools read")
    return Ask("safety.mode: ask")


def approval_key(tool: str, sanitized_request: Mapping[str, Any]) -> str:
    """The name of a request: a changed request has a changed key."""
    request = {"tool": tool, "request": dict(sanitized_request)}
    try:
        return sha256(canonical_json(request)).hexdigest()
    except ValidationFailed:  # a model may write numbers that have no canonical form
        return sha256(b"exact\n" + msgspec.json.encode(request, order="sorted")).hexdigest()
