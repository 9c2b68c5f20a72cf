"""runs export: a run to hand to somebody else."""

import sys
from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from skills_runtime.cli.options import RunOptions
from skills_runtime.cli.program import Command, Misuse, Program


@dataclass(frozen=True, kw_only=True)
class ExportOptions(RunOptions):
    """What `runs export` takes."""

    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Also pack the run into this .tar.gz file.")
    ] = None
    with_blobs: Annotated[
        bool, typer.Option("--with-blobs", help="Include the private contents the log only refers to.")
    ] = False
    html: Annotated[
        str | None,
        typer.Option("--html", metavar="FILE", help="Write the run as one web page instead, into this file."),
    ] = None
    lang: Annotated[Literal["en", "zh"], typer.Option("--lang", help="The language of that page.")] = "en"


def export(options: ExportOptions, program: Program) -> int:
    """Write checksums and provenance of a run, or an archive."""
    from skills_runtime.cli.locate import find_run
    from skills_runtime.cli.machine import checked_path, shown_path
    from skills_runtime.cli.render.answer import write_text
    from skills_runtime.runs import export_run
    from skills_runtime.runs.page import write_page

    if options.html is not None and (options.output is not None or options.with_blobs):
        raise Misuse("`--html` writes a page and nothing else; leave out `--output` and `--with-blobs`")
    paths = find_run(options.run, options.workspace_root)
    if options.html is not None:
        place = checked_path(options.html, option="--html")
        write_page(paths, place, options.lang)
        write_text(f"{shown_path(place)}\n")
        sys.stdout.flush()
        return 0
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
