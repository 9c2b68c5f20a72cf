"""Layers into one tree, with the source of every field.

Pure: no file and no variable is read here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any, Literal, cast

from skills_runtime.config.environment import Trust
from skills_runtime.config.trust import PRESETS, RULES, is_guarded, tighten, user_only, was_ignored
from skills_runtime.config.wording import rendered

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


def planted(key: str, value: Any) -> dict[str, Any]:
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
            source = _source(sources[key], source, unchanged=value == current, taken=value == proposed)
            if was_ignored(proposed, value):
                ignored.append((key, _notice(key, proposed, current, sources[key], layer)))
        if layer.trust == "user":
            by_project.discard(key)
        elif key not in below.sources or value != value_at(below.data, key):
            by_project.add(key)
        data = deep_merge(data, planted(key, value))
        sources[key] = source
    return Merged(data, sources, frozenset(by_project), tuple(ignored))


def _source(below: str, own: str, *, unchanged: bool, taken: bool) -> str:
    if unchanged:
        return below
    return own if taken else f"{below} + {own}"


def _notice(key: str, proposed: Any, current: Any, source: str, layer: Layer) -> str:
    said = f"`{key}: {rendered(proposed)}` {layer.where} was ignored"
    if RULES.get(key, user_only) is user_only:
        return f"{said}: only the user's own configuration may set it"
    return f"{said}: a project file may not loosen `{rendered(current)}` ({source})"
