"""Layers into one tree, with the source of every field; a project may only tighten what guards the user.

Pure: no file and no variable is read here.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any, Literal, cast

from skills_runtime.config.environment import Trust
from skills_runtime.config.problems import rendered

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
    "sandbox.allow_home": user_only,
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
    "service.skill_service": _stricter(("open",), ("user",), ("closed",)),
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


def may_be_projects(key: str) -> bool:
    """Whether a project's value for this field may count at all."""
    return not is_guarded(key) or RULES.get(key, user_only) is not user_only


def tighten(key: str, current: Any, proposed: Any) -> Any:
    """The value that holds when a project proposes one for a guarded field."""
    return RULES.get(key, user_only)(current, proposed)


def was_ignored(proposed: Any, settled: Any) -> bool:
    """Whether something the project asked for does not hold."""
    if isinstance(proposed, tuple):
        return any(entry not in settled for entry in cast(tuple[object, ...], proposed))
    return proposed != settled


Tree = Mapping[str, Any]

WHOLE = frozenset({"run.output_schema"})
"""Fields whose value is a mapping: what is in it are no settings, so it is taken as it is or not at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """Some settings from one place, and how far that place is trusted."""

    data: Tree
    label: str
    joint: Literal["#", ":", ""] = "#"
    where: str
    trust: Trust = "user"
    base: Path

    def source(self, key: str) -> str:
        """What the sources map says of a field that comes from here."""
        return f"{self.label}{self.joint}{key}" if self.joint else self.label


@dataclass(frozen=True, slots=True)
class Merged:
    """The tree so far, where its fields come from, which the project chose, and what was ignored on the way."""

    data: Tree = field(default_factory=dict[str, Any])
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    by_project: frozenset[str] = frozenset()
    ignored: tuple[tuple[str, str], ...] = ()


def deep_merge(low: Tree, high: Tree, prefix: str = "") -> dict[str, Any]:
    """The two trees as one: mappings are merged, everything else is replaced by `high`."""
    merged = dict(low)
    for name, value in high.items():
        below, key = merged.get(name), prefix + name
        both = isinstance(below, Mapping) and isinstance(value, Mapping) and key not in WHOLE
        merged[name] = deep_merge(cast(Tree, below), cast(Tree, value), f"{key}.") if both else value
    return merged


def flatten(tree: Tree, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every field of the tree with its dotted key."""
    for name, value in tree.items():
        key = prefix + name
        if isinstance(value, Mapping) and key not in WHOLE:
            yield from flatten(cast(Tree, value), f"{key}.")
        else:
            yield key, value


def nest_value(key: str, value: Any) -> dict[str, Any]:
    """The tree that holds only this field."""
    return reduce(lambda inner, name: {name: inner}, reversed(key.split(".")), value)


def value_at(tree: Tree, key: str) -> Any:
    """The field with this dotted key."""
    return reduce(lambda inner, name: inner[name], key.split("."), tree)


def settle(embedded: Layer, layers: Sequence[Layer]) -> Merged:
    """All layers over the defaults, with the preset of the profile they choose in between."""
    profile = value_at(merge([embedded, *layers]).data, "sandbox.profile")
    preset = replace(embedded, data=PRESETS[profile], label=f"profile:{profile}", where=f"of the profile `{profile}`")
    return merge([embedded, preset, *layers])


def merge(layers: Iterable[Layer]) -> Merged:
    """All layers as one tree, the lowest first; the lowest must hold every field."""
    return reduce(_add, layers, Merged())


def _add(below: Merged, layer: Layer) -> Merged:
    data, sources, ignored = below.data, dict(below.sources), list(below.ignored)
    by_project = set(below.by_project)
    for key, proposed in flatten(layer.data):
        value, source = proposed, layer.source(key)
        if layer.trust == "project" and is_guarded(key):
            current = value_at(data, key)
            value = tighten(key, current, proposed)
            if value == current:
                source = sources[key]
            elif value != proposed:
                source = f"{sources[key]} + {source}"
            if was_ignored(proposed, value):
                ignored.append((key, _notice(key, proposed, current, sources[key], layer)))
        if layer.trust == "user":
            by_project.discard(key)
        elif key not in below.sources or value != value_at(below.data, key):
            by_project.add(key)
        data = deep_merge(data, nest_value(key, value))
        sources[key] = source
    return Merged(data, sources, frozenset(by_project), tuple(ignored))


def _notice(key: str, proposed: Any, current: Any, source: str, layer: Layer) -> str:
    said = f"`{key}: {rendered(proposed)}` {layer.where} was ignored"
    if RULES.get(key, user_only) is user_only:
        return f"{said}: only the user's own configuration may set it"
    return f"{said}: a project file may not loosen `{rendered(current)}` ({source})"
