"""sandbox discard: drop a layer with everything in it."""

import sys
from dataclasses import dataclass

from skills_runtime.cli.layering import LayerOptions
from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class SandboxDiscardOptions(LayerOptions):
    """What `sandbox discard` takes."""


def sandbox_discard(options: SandboxDiscardOptions, program: Program) -> int:
    """Drop a layer; the workspace stays as it is."""
    from skills_runtime.cli.layering import layer_from
    from skills_runtime.sandbox.overlay import discard_layer

    del program
    layer = layer_from(options)
    discard_layer(layer)
    sys.stdout.write(f"dropped {layer.name}\n")
    return 0


COMMAND = Command(
    options=SandboxDiscardOptions,
    work=sandbox_discard,
    examples=("sandbox discard 4f1c9ab02d37", "sandbox discard 4f1c9ab02d37 --workspace ./project"),
)
