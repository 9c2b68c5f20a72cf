"""ledger rebuild: the index of runs, derived from the run directories again."""

import sys
from dataclasses import dataclass, field
from typing import Annotated

import typer

from skills_runtime.cli.options import WorkspaceOptions
from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class RebuildOptions(WorkspaceOptions):
    """What `ledger rebuild` takes."""

    roots: Annotated[
        list[str],
        typer.Argument(metavar="ROOT...", help="Directories that hold run directories; all known ones by default."),
    ] = field(default_factory=list[str])


def ledger_rebuild(options: RebuildOptions, program: Program) -> int:
    """Derive the index of runs from the run directories again."""
    from skills_runtime.cli.machine import checked_path, known_runs, log_ports
    from skills_runtime.cli.render.text import one_line, plural
    from skills_runtime.cli.selection import run_problems
    from skills_runtime.engine import refresh, workspace_roots

    workspace = checked_path(options.workspace_root, option="--workspace-root").resolve()
    with known_runs() as index:
        named = [checked_path(root, option="ROOT") for root in options.roots]
        report = refresh(index, named or workspace_roots(index, workspace), log_ports())
        known = len(index.places())
    problems = run_problems(report.problems)
    sys.stdout.write(f"{plural(known, 'run')} known, {report.removed} gone\n")
    for problem in problems:
        sys.stderr.write(f"{problem.kind}: {one_line(problem.message)}\n")
    return 20 if problems else 0


COMMAND = Command(
    options=RebuildOptions, work=ledger_rebuild, examples=("ledger rebuild", "ledger rebuild ./runs ~/archive/runs")
)
