"""Merge configuration sources and record the origin of every field; a project may only tighten guarded settings.

Pure: reads no files and no variables.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any, Literal, cast

from skills_runtime.config.environment import Trust
from skills_runtime.config.problems import Location, format_value

TrustRule = Callable[[Any, Any], Any]
"""Returns the effective value, given the current one and the project's."""


def _strictest(*loosest_first: tuple[object, ...]) -> TrustRule:
    ranks = {value: rank for rank, values in enumerate(loosest_first) for value in values}
    return lambda current, proposed: proposed if ranks[proposed] > ranks[current] else current


def _smallest(current: float, proposed: float) -> float:
    return min(current, proposed)


def _intersect(current: tuple[str, ...], proposed: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(entry for entry in current if entry in proposed)


def _union(current: tuple[str, ...], proposed: tuple[str, ...]) -> tuple[str, ...]:
    return (*current, *(entry for entry in dict.fromkeys(proposed) if entry not in current))


def keep_current(current: Any, proposed: Any) -> Any:
    """Ignore the project's value: only the user may set the field."""
    del proposed
    return current


TRUST_RULES: Mapping[str, TrustRule] = {
    "safety.mode": _strictest(("allow",), ("auto",), ("ask",), ("deny",)),
    "safety.allowlist": _intersect,
    "safety.denylist": _union,
    "safety.tool_allowlist": _intersect,
    "safety.tool_denylist": _union,
    "safety.rule_files": keep_current,
    "safety.approval_timeout_ms": _smallest,
    "safety.approval_expires_sec": _smallest,
    "safety.skill_tools": _strictest(("preapprove",), ("ignore",), ("enforce",)),
    "sandbox.profile": _strictest(("dev",), ("balanced",), ("prod",)),
    "sandbox.default_policy": _strictest(("none",), ("restricted",)),
    "sandbox.os.mode": _strictest(("none",), ("auto",), ("seatbelt", "bubblewrap")),
    "sandbox.os.seatbelt.profile": keep_current,
    "sandbox.os.bubblewrap.bwrap_path": keep_current,
    "sandbox.os.bubblewrap.unshare_net": _strictest((False,), (True,)),
    "sandbox.workspace": _strictest(("shared",), ("isolated",)),
    "sandbox.delete": _strictest(("allow",), ("disabled",)),
    "sandbox.allow_home": keep_current,
    "sandbox.egress.allow": _intersect,
    "sandbox.egress.allow_private": _intersect,
    "sandbox.egress.deny": _union,
    "sandbox.egress.unknown": _strictest(("ask",), ("deny",)),
    **{
        f"skills.discovery.{name}": _strictest((True,), (False,))
        for name in ("enabled", "project", "user", "system", "packages", "plugins", "other_clients")
    },
    "skills.discovery.directory": keep_current,
    "skills.discovery.admin_directory": keep_current,
    "skills.discovery.max_depth": _smallest,
    "skills.discovery.max_dirs_per_root": _smallest,
    "skills.discovery.max_entries_per_root": _smallest,
    "service.host": keep_current,
    "service.allowed_hosts": _intersect,
    "service.skill_service": _strictest(("open",), ("user",), ("closed",)),
    "service.skills_dir": keep_current,
    "service.artifacts_dir": keep_current,
    "service.default_timeout_ms": _smallest,
    "service.max_timeout_ms": _smallest,
    "service.grace_seconds": keep_current,
    **{
        f"service.limits.{name}": _smallest
        for name in ("body_bytes", "body_seconds", "requests_per_second", "burst", "failures_per_minute")
    },
    "service.limits.concurrent": _smallest,
    "service.limits.waiting": _smallest,
    "service.executions.keep_days": keep_current,
    "service.executions.keep_bytes": keep_current,
}
"""How a project's value combines with the current one, for every guarded field."""

UNGUARDED_FIELDS = frozenset({"service.port"})
"""Fields in guarded sections that grant nothing."""

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
"""Values of a sandbox profile for fields that no source sets; never looser than the defaults."""


def is_guarded(key: str) -> bool:
    """Return whether a project may only tighten this field."""
    return key.startswith(("safety.", "sandbox.", "skills.discovery.", "service.")) and key not in UNGUARDED_FIELDS


def can_project_set(key: str) -> bool:
    """Return whether a project may set this field at all."""
    return not is_guarded(key) or TRUST_RULES.get(key, keep_current) is not keep_current


def tighten(key: str, current: Any, proposed: Any) -> Any:
    """Return the effective value if a project proposes one for a guarded field."""
    return TRUST_RULES.get(key, keep_current)(current, proposed)


def is_overridden(proposed: Any, effective: Any) -> bool:
    """Return whether something that the project requested does not apply."""
    if isinstance(proposed, tuple):
        return any(entry not in effective for entry in cast(tuple[object, ...], proposed))
    return proposed != effective


Tree = Mapping[str, Any]

OPAQUE_FIELDS = frozenset({"run.output_schema"})
"""Fields with a mapping as value that contains no settings; it is replaced as a whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigSource:
    """Settings from one source, and how far it is trusted."""

    data: Tree
    label: str
    separator: Literal["#", ":", ""] = "#"
    location: Location
    trust: Trust = "user"
    base: Path
    shorthands: Mapping[str, str] = field(default_factory=dict[str, str])
    """The shorthand in the source, by the field it sets."""

    def describe_field(self, key: str) -> str:
        """Describe the origin of a field from this source."""
        key = self.shorthands.get(key, key)
        return f"{self.label}{self.separator}{key}" if self.separator else self.label


@dataclass(frozen=True, slots=True)
class Merged:
    """The merged tree, the origins of its fields, the fields chosen by the project, and what was ignored."""

    data: Tree = field(default_factory=dict[str, Any])
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    by_project: frozenset[str] = frozenset()
    ignored: tuple[tuple[str, str], ...] = ()


def deep_merge(base: Tree, override: Tree, prefix: str = "") -> dict[str, Any]:
    """Merge two trees: mappings are merged, everything else is replaced by `override`."""
    merged = dict(base)
    for name, value in override.items():
        current, key = merged.get(name), prefix + name
        is_nested = isinstance(current, Mapping) and isinstance(value, Mapping) and key not in OPAQUE_FIELDS
        merged[name] = deep_merge(cast(Tree, current), cast(Tree, value), f"{key}.") if is_nested else value
    return merged


def flatten(tree: Tree, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every field of the tree with its dotted key."""
    for name, value in tree.items():
        key = prefix + name
        if isinstance(value, Mapping) and key not in OPAQUE_FIELDS:
            yield from flatten(cast(Tree, value), f"{key}.")
        else:
            yield key, value


def nest_value(key: str, value: Any) -> dict[str, Any]:
    """Return the tree that holds only this field."""
    return reduce(lambda inner, name: {name: inner}, reversed(key.split(".")), value)


def get_value(tree: Tree, key: str) -> Any:
    """Return the field with this dotted key."""
    return reduce(lambda inner, name: inner[name], key.split("."), tree)


def merge_with_profile(embedded: ConfigSource, sources: Sequence[ConfigSource]) -> Merged:
    """Merge all sources over the defaults, with the preset of the chosen profile in between."""
    profile = get_value(merge_sources([embedded, *sources]).data, "sandbox.profile")
    location = Location(f"of the profile `{profile}`")
    preset = replace(embedded, data=PRESETS[profile], label=f"profile:{profile}", location=location)
    return merge_sources([embedded, preset, *sources])


def merge_sources(sources: Iterable[ConfigSource]) -> Merged:
    """Merge all sources, lowest precedence first; the first must hold every field."""
    return reduce(_merge_source, sources, Merged())


def _merge_source(merged: Merged, source: ConfigSource) -> Merged:
    data, sources, ignored = merged.data, dict(merged.sources), list(merged.ignored)
    by_project = set(merged.by_project)
    for key, proposed in flatten(source.data):
        value, field_source = proposed, source.describe_field(key)
        if source.trust == "project" and is_guarded(key):
            current = get_value(data, key)
            value = tighten(key, current, proposed)
            if value == current:
                field_source = sources[key]
            elif value != proposed:
                field_source = f"{sources[key]} + {field_source}"
            if is_overridden(proposed, value):
                ignored.append((key, _build_notice(key, proposed, current, sources[key], source)))
        if source.trust == "user":
            by_project.discard(key)
        elif key not in merged.sources or value != get_value(merged.data, key):
            by_project.add(key)
        data = deep_merge(data, nest_value(key, value))
        sources[key] = field_source
    return Merged(data, sources, frozenset(by_project), tuple(ignored))


def _build_notice(key: str, proposed: Any, current: Any, current_source: str, source: ConfigSource) -> str:
    prefix = f"`{key}: {format_value(proposed)}` {source.location.name} was ignored"
    if TRUST_RULES.get(key, keep_current) is keep_current:
        return f"{prefix}: only the user's own configuration may set it"
    return f"{prefix}: a project file may not loosen `{format_value(current)}` ({current_source})"
