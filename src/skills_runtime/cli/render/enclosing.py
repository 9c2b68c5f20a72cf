"""The fence a command would run behind, in words.

Pure.
"""

import shlex
from collections.abc import Mapping
from typing import Any, cast

from skills_runtime.cli.render.text import one_line, plural

Fence = Mapping[str, Any]
NONE = "none: the command has all your rights"


def fence_line(fence: Fence) -> dict[str, str]:
    """The fence in one line; nothing where no process would start."""
    if not fence:
        return {}
    if not fence.get("active"):
        return {"fence": NONE}
    words = [_word(fence, "adapter"), _word(fence, "profile"), _network(fence)]
    gaps = [gap.partition(":")[0] for gap in _texts(fence, "gaps")]
    missing = f"{plural(len(gaps), 'gap')}: {', '.join(gaps)}" if gaps else ""
    return {"fence": one_line(" · ".join(filter(None, [*words, missing])))}


def fence_facts(fence: Fence) -> dict[str, str]:
    """Everything that is known of it."""
    facts = {
        "runs": shlex.join(_texts(fence, "argv")),
        "promises": ", ".join(_texts(fence, "promises")),
        "gaps": "\n".join(map(one_line, _texts(fence, "gaps"))),
        "policy": _word(fence, "policy"),
    }
    return fence_line(fence) | {label: text if label == "gaps" else one_line(text) for label, text in facts.items()}


def _network(fence: Fence) -> str:
    network = fence.get("network")
    return f"network {network}" if isinstance(network, str) and network else ""


def _word(fence: Fence, name: str) -> str:
    value = fence.get(name)
    return value if isinstance(value, str) else ""


def _texts(fence: Fence, name: str) -> list[str]:
    value: Any = fence.get(name)
    return [str(one) for one in cast("list[object]", value)] if isinstance(value, list | tuple) else []
