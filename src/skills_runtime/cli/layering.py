"""What the `sandbox` commands share about layers: which one is meant, and how it is told of."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skills_runtime.cli.render.text import one_line, plural

if TYPE_CHECKING:
    from skills_runtime.sandbox import Fence
    from skills_runtime.sandbox.overlay import Change, Difference, Layer

SHOWN = 20
"""Paths that are named after a command; `sandbox diff` names all."""
SIGNS = {"added": "+", "changed": "~", "removed": "-"}


@dataclass(frozen=True, kw_only=True)
class LayerOptions:
    """Which layer is meant."""

    layer: Annotated[str, typer.Argument(metavar="LAYER", help="The name that `sandbox exec --overlay` told.")]
    workspace: Annotated[str, typer.Option("--workspace", metavar="DIR", help="The workspace it lies over.")] = "."


def layer_from(options: LayerOptions) -> "Layer":
    """The layer that the options name."""
    from skills_runtime.sandbox.overlay import find_layer

    return find_layer(Path(options.workspace), options.layer)


def with_layer(fence: "Fence", work: "Callable[[Fence], int]", bubblewrap: str | None = None) -> int:
    """Do the work behind the same fence over a new layer, and tell afterwards what lies in it."""
    from skills_runtime.sandbox.overlay import difference_of, discard_layer, holding, new_layer

    layer = new_layer(fence.policy.workspace, hidden=fence.policy.hidden, bubblewrap=bubblewrap)
    try:
        with holding(layer):
            code = work(fence.over(layer.tree, layer.work if layer.mode == "mount" else None))
            found = difference_of(layer)
    except BaseException:
        discard_layer(layer)
        raise
    if found:
        sys.stderr.write(summary(found, layer))
    else:
        discard_layer(layer)
        sys.stderr.write("nothing changed\n")
    return code


def summary(found: "Difference", layer: "Layer") -> str:
    """How many files changed, which, where they are, and what can be done with them."""
    lines = [f"{line_of(change)}\n" for change in found.changes[:SHOWN]]
    if len(found.changes) > SHOWN:
        lines.append(f"  and {len(found.changes) - SHOWN} more\n")
    place = f"{layer.name} --workspace {one_line(str(layer.workspace))}"
    return (
        f"{counted(found)} in {one_line(str(layer.tree))}\n{''.join(lines)}"
        f"look at them: sandbox diff {place}\nkeep them:    sandbox commit {place}\n"
        f"drop them:    sandbox discard {place}\n"
    )


def counted(found: "Difference") -> str:
    """The number of changes as words."""
    number = len(found.changes)
    withheld = f", {len(found.withheld)} never committed" if found.withheld else ""
    return f"{plural(number, 'change')}{withheld}"


def line_of(change: "Change") -> str:
    """One change as one line."""
    after = change.after or change.before
    ending = "/" if after is not None and after.is_directory else ""
    return f"{SIGNS[change.kind]} {one_line(change.path)}{ending}"
