"""`ledger`: the index of runs."""

import sys
from typing import Annotated

import typer

from skills_runtime.cli.help import ExampleCommand, create_app
from skills_runtime.cli.options import ConfigOptions, WorkspaceRoot
from skills_runtime.text import readable_line

app = create_app("ledger", "Look after the index of runs.", "ledger rebuild", "ledger rebuild ./runs")


@app.command("rebuild", cls=ExampleCommand, epilog="ledger rebuild\nledger rebuild ./runs ~/archive/runs")
def ledger_rebuild(
    *,
    roots: Annotated[
        list[str],
        typer.Argument(
            metavar="ROOT...",
            help="Directories that hold run directories; all known ones by default.",
            default_factory=list,
            show_default=False,
        ),
    ],
    workspace_root: WorkspaceRoot = ".",
) -> int:
    """Derive the index of runs from the run directories again."""
    from skills_runtime.cli.inputs import checked_path
    from skills_runtime.cli.runs_view import run_problems
    from skills_runtime.cli.state import open_service
    from skills_runtime.cli.text import plural
    from skills_runtime.engine import refresh, workspace_roots

    with open_service(ConfigOptions(workspace_root)) as service:
        index = service.ledger.index
        named = [checked_path(root, option="ROOT") for root in roots]
        report = refresh(index, named or workspace_roots(index, service.workspace.workspace_root), service.ports)
        known = len(index.places())
    problems = run_problems(report.problems)
    sys.stdout.write(f"{plural(known, 'run')} known, {report.removed} gone\n")
    for problem in problems:
        sys.stderr.write(f"{problem.kind}: {readable_line(problem.message)}\n")
    return 20 if problems else 0
