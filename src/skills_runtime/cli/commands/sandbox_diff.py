"""sandbox diff: what a command wrote to the layer over a workspace."""

import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from skills_runtime.cli.layering import LayerOptions
from skills_runtime.cli.options import Json
from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class SandboxDiffOptions(LayerOptions):
    """What `sandbox diff` takes."""

    names: Annotated[bool, typer.Option("--names", help="Only the paths, without the lines that differ.")] = False
    json: Json = False


def sandbox_diff(options: SandboxDiffOptions, program: Program) -> int:
    """Show what changed in a layer, before it counts."""
    import msgspec

    from skills_runtime.cli.layering import counted, layer_from, line_of
    from skills_runtime.cli.render.text import neutral
    from skills_runtime.sandbox.overlay import difference_of, text_of
    from skills_runtime.sandbox.overlay.manifests import printable

    del program
    layer = layer_from(options)
    found = difference_of(layer)
    if options.json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(printable(found))).decode() + "\n")
        return 0
    for change in found.changes:
        sys.stdout.write(f"{line_of(change)}\n")
        if not options.names:
            sys.stdout.write(neutral(text_of(layer, change)))
    for change in found.withheld:
        sys.stdout.write(f"{line_of(change)}  (never committed)\n")
    sys.stdout.write(f"{counted(found)}\n")
    return 0


COMMAND = Command(
    options=SandboxDiffOptions,
    work=sandbox_diff,
    examples=("sandbox diff 4f1c9ab02d37", "sandbox diff 4f1c9ab02d37 --workspace ./project --names"),
)
