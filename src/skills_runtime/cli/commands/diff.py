"""runs diff: what two runs did differently."""

import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from skills_runtime.cli.options import WorkspaceOptions
from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class DiffOptions(WorkspaceOptions):
    """What `runs diff` takes."""

    run: Annotated[str, typer.Argument(metavar="RUN", help="A run directory, a run id, or how the id begins.")]
    other: Annotated[str, typer.Argument(metavar="OTHER", help="The run to compare it with.")]


def diff(options: DiffOptions, program: Program) -> int:
    """Compare what two runs said and did, leaving out ids and times."""
    from skills_runtime.cli.locate import find_run
    from skills_runtime.cli.render.answer import write_text
    from skills_runtime.projections import Moves, fold
    from skills_runtime.runs import whole_history
    from skills_runtime.text import unified_diff

    runs = [find_run(text, options.workspace_root) for text in (options.run, options.other)]
    one, other = ([str(move) for move in fold(whole_history(paths), Moves()).all()] for paths in runs)
    lines = list(unified_diff(one, other, (options.run, options.other), context=1, end=""))
    write_text("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()
    return 1 if lines else 0


COMMAND = Command(
    options=DiffOptions,
    work=diff,
    examples=("runs diff demo-001 demo-002", "runs diff ./runs/demo-001 ./runs/demo-002"),
)
