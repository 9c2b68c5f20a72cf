"""The fence a command would run behind, in words.

Pure.
"""

import shlex
from collections.abc import Mapping
from typing import Any, cast

from skills_runtime.cli.render.text import one_line, plural

Fence = Mapping[str, Any]
NONE = "none: the command has all your rights"
SHOWN_PLACES = 4
"""Of each list, where not all of it is asked for."""
_LABELS = {"writable": "writes", "readable": "reads", "protected": "protected", "hidden": "hidden"}


def fence_line(fence: Fence) -> dict[str, str]:
    """The fence in a few lines: what it is, and what can be written, read and reached; nothing without a process."""
    if not fence:
        return {}
    if not fence.get("active"):
        return {"fence": NONE}
    words = [_word(fence, "adapter"), _word(fence, "profile"), _network(fence)]
    gaps = [gap.partition(":")[0] for gap in _texts(fence, "gaps")]
    missing = f"{plural(len(gaps), 'gap')}: {', '.join(gaps)}" if gaps else ""
    return {"fence": one_line(" · ".join(filter(None, [*words, missing])))} | _places(fence, SHOWN_PLACES)


def fence_facts(fence: Fence) -> dict[str, str]:
    """Everything that is known of it."""
    facts = {
        "runs": shlex.join(_texts(fence, "argv")),
        "promises": ", ".join(_texts(fence, "promises")),
        "gaps": "\n".join(map(one_line, _texts(fence, "gaps"))),
        "policy": _word(fence, "policy"),
    }
    every = fence_line(fence) | _places(fence) | _hosts(fence)
    return every | {label: text if label == "gaps" else one_line(text) for label, text in facts.items()}


def _places(fence: Fence, most: int | None = None) -> dict[str, str]:
    """What can be written and read, and what in it cannot; of long lists the beginning."""
    files = _mapping(fence, "file_access")
    if not files:
        return {}
    workspace, left_out = _word(files, "workspace"), _mapping(files, "left_out")
    found: dict[str, str] = {}
    for name, label in _LABELS.items():
        paths = [_place(path, workspace) for path in _texts(files, name)]
        paths += [f"its own {files['temporary']}"] if name == "writable" and files.get("temporary") else []
        paths += ["the system's programs"] if name == "readable" and _texts(files, "system") else []
        found[label] = _listed(paths, most, cast("int", left_out.get(name, 0)))
    return {label: text for label, text in found.items() if text}


def _place(path: str, workspace: str) -> str:
    """A path as short as it can be told; one in the workspace by its way from there."""
    if path == workspace:
        return "the workspace"
    inside = path.removeprefix(f"{workspace}/")
    return one_line(f"./{inside}" if inside != path else path)


def _listed(paths: list[str], most: int | None, left_out: int) -> str:
    rest = left_out + (max(0, len(paths) - most) if most is not None else 0)
    return ", ".join(paths[:most]) + (f" and {rest} more" if rest else "")


def _network(fence: Fence) -> str:
    network = fence.get("network")
    if not isinstance(network, str) or not network:
        return ""
    hosts = [*_texts(_mapping(fence, "egress"), "allow"), *_texts(_mapping(fence, "egress"), "allow_private")]
    return f"network {network}" + (f" ({_listed(hosts, SHOWN_PLACES, 0)})" if hosts else "")


def _hosts(fence: Fence) -> dict[str, str]:
    """The hosts that can be reached, each; those of the call itself have that name already."""
    egress = _mapping(fence, "egress")
    facts = {
        "reaches": [*_texts(egress, "allow"), *_texts(egress, "allow_private")],
        "never": _texts(egress, "deny"),
    }
    return {label: one_line(", ".join(hosts)) for label, hosts in facts.items() if hosts}


def _mapping(fence: Fence, name: str) -> Fence:
    value: Any = fence.get(name)
    return cast("Fence", value) if isinstance(value, Mapping) else {}


def _word(fence: Fence, name: str) -> str:
    value = fence.get(name)
    return value if isinstance(value, str) else ""


def _texts(fence: Fence, name: str) -> list[str]:
    value: Any = fence.get(name)
    return [str(one) for one in cast("list[object]", value)] if isinstance(value, list | tuple) else []
