"""sandbox commit: put what a layer holds into its workspace."""

import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from skills_runtime.cli.layering import LayerOptions
from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class SandboxCommitOptions(LayerOptions):
    """What `sandbox commit` takes."""

    force: Annotated[bool, typer.Option("--force", help="Also over what was changed meanwhile.")] = False


def sandbox_commit(options: SandboxCommitOptions, program: Program) -> int:
    """Put what changed in a layer into the workspace, all but protected paths."""
    from skills_runtime.cli.layering import counted, layer_from, line_of
    from skills_runtime.sandbox.overlay import commit_layer

    del program
    layer = layer_from(options)
    done = commit_layer(layer, force=options.force)
    sys.stdout.write(f"{counted(done)}: put into {layer.workspace}\n")
    for change in done.withheld:
        sys.stdout.write(f"{line_of(change)}  (never committed)\n")
    if done.withheld:
        sys.stdout.write(f"the layer is kept: sandbox discard {layer.name} drops it\n")
    return 0


COMMAND = Command(
    options=SandboxCommitOptions,
    work=sandbox_commit,
    examples=("sandbox commit 4f1c9ab02d37", "sandbox commit 4f1c9ab02d37 --workspace ./project --force"),
)
