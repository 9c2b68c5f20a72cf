"""runs tail: the events of a run, as they are or as they come."""

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from skills_runtime.cli.options import Json, NoColor, RunOptions
from skills_runtime.cli.program import Command, Program

if TYPE_CHECKING:
    from skills_runtime.cli.following import WriteLine


@dataclass(frozen=True, kw_only=True)
class TailOptions(RunOptions):
    """What `runs tail` takes."""

    start: Annotated[int, typer.Option("--from", min=0, metavar="SEQ", help="The first event to show.")] = 0
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the run ends.")] = False
    json: Json = False
    no_color: NoColor = False


def tail(options: TailOptions, program: Program) -> int:
    """Show the events of a run, one line each."""
    from skills_runtime.cli.following import copy_lines, follow
    from skills_runtime.cli.locate import find_run

    paths = find_run(options.run, options.workspace_root)
    copy = follow if options.follow else copy_lines
    copy(paths, options.start, _writer(options))
    return 0


def _writer(options: TailOptions) -> "WriteLine":
    if options.json:
        return _write_bytes
    from skills_runtime.cli.render.lines import line_writer

    return line_writer(no_color=options.no_color)


def _write_bytes(line: bytes, number: int) -> None:
    del number
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


COMMAND = Command(
    options=TailOptions,
    work=tail,
    examples=("runs tail demo-001 --follow", "runs tail ./runs/demo-001 --from 12 --json"),
)
