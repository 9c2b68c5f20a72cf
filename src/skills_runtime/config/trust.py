"""Who may change the gate, the fence and the service: a project may only tighten what the user has.

Pure. Every field below `safety`, `sandbox`, `skills.discovery` and `service` has its rule here; a field without one
belongs to the user alone.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

Combine = Callable[[Any, Any], Any]
"""From the value so far and the project's, the value that holds."""


def _stricter(*loosest_first: tuple[object, ...]) -> Combine:
    rank = {value: place for place, values in enumerate(loosest_first) for value in values}
    return lambda current, proposed: proposed if rank[proposed] > rank[current] else current


def _smaller(current: float, proposed: float) -> float:
    return min(current, proposed)


def _in_both(current: tuple[str, ...], proposed: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(entry for entry in current if entry in proposed)


def _in_either(current: tuple[str, ...], proposed: tuple[str, ...]) -> tuple[str, ...]:
    return (*current, *(entry for entry in dict.fromkeys(proposed) if entry not in current))


def user_only(current: Any, proposed: Any) -> Any:
    """The rule of what only the user may set: the project's value never counts."""
    del proposed
    return current


RULES: Mapping[str, Combine] = {
    "safety.mode": _stricter(("allow",), ("ask",), ("deny",)),
    "safety.allowlist": _in_both,
    "safety.denylist": _in_either,
    "safety.tool_allowlist": _in_both,
    "safety.tool_denylist": _in_either,
    "safety.rule_files": user_only,
    "safety.approval_timeout_ms": _smaller,
    "safety.approval_expires_sec": _smaller,
    "safety.skill_tools": _stricter(("preapprove",), ("ignore",), ("enforce",)),
    "sandbox.profile": _stricter(("dev",), ("balanced",), ("prod",)),
    "sandbox.default_policy": _stricter(("none",), ("restricted",)),
    "sandbox.os.mode": _stricter(("none",), ("auto",), ("seatbelt", "bubblewrap")),
    "sandbox.os.seatbelt.profile": user_only,
    "sandbox.os.bubblewrap.bwrap_path": user_only,
    "sandbox.os.bubblewrap.unshare_net": _stricter((False,), (True,)),
    "sandbox.workspace": _stricter(("shared",), ("isolated",)),
    "sandbox.delete": _stricter(("allow",), ("disabled",)),
    "sandbox.egress.allow": _in_both,
    "sandbox.egress.allow_private": _in_both,
    "sandbox.egress.deny": _in_either,
    "sandbox.egress.unknown": _stricter(("ask",), ("deny",)),
    **{
        f"skills.discovery.{name}": _stricter((True,), (False,))
        for name in ("enabled", "project", "user", "system", "packages", "plugins", "other_clients")
    },
    "skills.discovery.directory": user_only,
    "skills.discovery.admin_directory": user_only,
    "skills.discovery.max_depth": _smaller,
    "skills.discovery.max_dirs_per_root": _smaller,
    "skills.discovery.max_entries_per_root": _smaller,
    "service.host": user_only,
    "service.allowed_hosts": _in_both,
    "service.skill_service": _stricter(("open",), ("closed",)),
    "service.skills_dir": user_only,
    "service.artifacts_dir": user_only,
    "service.default_timeout_ms": _smaller,
    "service.max_timeout_ms": _smaller,
    "service.grace_seconds": user_only,
    **{
        f"service.limits.{name}": _smaller
        for name in ("body_bytes", "body_seconds", "requests_per_second", "burst", "failures_per_minute")
    },
    "service.limits.concurrent": _smaller,
    "service.limits.waiting": _smaller,
    "service.executions.keep_days": user_only,
    "service.executions.keep_bytes": user_only,
}
"""For every guarded field, how a project's value meets the one it finds."""

FREE = frozenset({"service.port"})
"""Fields among guarded ones that open nothing."""

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "dev": {},
    "balanced": {
        "sandbox": {"default_policy": "restricted", "os": {"mode": "auto", "bubblewrap": {"unshare_net": True}}}
    },
    "prod": {
        "sandbox": {
            "default_policy": "restricted",
            "os": {
                "mode": "auto",
                "bubblewrap": {"unshare_net": True},
                "seatbelt": {
                    "profile": "(version 1) (allow default) "
                    '(deny file-read* file-write* (subpath "/etc") (subpath "/private/etc"))'
                },
            },
        }
    },
}
"""What a sandbox profile says about fields nobody set; it must never be looser than the defaults."""


def is_guarded(key: str) -> bool:
    """Whether a project may only tighten this field."""
    return key.startswith(("safety.", "sandbox.", "skills.discovery.", "service.")) and key not in FREE


def tighten(key: str, current: Any, proposed: Any) -> Any:
    """The value that holds when a project proposes one for a guarded field."""
    return RULES.get(key, user_only)(current, proposed)


def was_ignored(proposed: Any, settled: Any) -> bool:
    """Whether something the project asked for does not hold."""
    if isinstance(proposed, tuple):
        return any(entry not in settled for entry in cast(tuple[object, ...], proposed))
    return proposed != settled
