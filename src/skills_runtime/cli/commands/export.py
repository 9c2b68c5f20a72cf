"""runs export: a run to hand to somebody else."""

import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from skills_runtime.cli.options import RunOptions
from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class ExportOptions(RunOptions):
    """What `runs export` takes."""

    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Also pack the run into this .tar.gz file.")
    ] = None
    with_blobs: Annotated[
        bool, typer.Option("--with-blobs", help="Include the private contents the log only refers to.")
    ] = False


def export(options: ExportOptions, program: Program) -> int:
    """Write checksums and provenance of a run, or an archive."""
    from skills_runtime.cli.locate import find_run
    from skills_runtime.cli.machine import checked_path, shown_path
    from skills_runtime.cli.render.answer import write_text
    from skills_runtime.runs import export_run

    paths = find_run(options.run, options.workspace_root)
    output = checked_path(options.output, option="--output") if options.output is not None else None
    for path in export_run(paths.root, output=output, with_blobs=options.with_blobs):
        write_text(f"{shown_path(path)}\n")
    sys.stdout.flush()
    return 0


COMMAND = Command(
    options=ExportOptions,
    work=export,
    examples=("runs export demo-001", "runs export ./runs/demo-001 --output demo-001.tar.gz"),
)
