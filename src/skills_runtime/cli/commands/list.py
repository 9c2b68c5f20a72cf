"""runs list, and ls: which runs there are."""

import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from skills_runtime.cli.options import Json, NoColor, WorkspaceOptions
from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class ListOptions(WorkspaceOptions):
    """What `runs list` takes."""

    status: Annotated[
        str | None, typer.Option("--status", metavar="STATE", help="Only runs in this state, such as failed.")
    ] = None
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="Only runs of this session, task by task.")
    ] = None
    search: Annotated[
        str | None, typer.Option("--search", metavar="TEXT", help="Only runs whose task or answer has these words.")
    ] = None
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="At most this many, the newest.")] = 50
    all: Annotated[bool, typer.Option("--all", help="Runs of every workspace on this machine.")] = False
    json: Json = False
    no_color: NoColor = False


def list_runs(options: ListOptions, program: Program) -> int:
    """List the runs of this workspace, newest first."""
    from skills_runtime.cli.machine import checked_path, known_runs
    from skills_runtime.cli.render.tables import show_problems, show_rows, show_tasks, write_rows
    from skills_runtime.cli.selection import Selection, select, update, waiting_kinds
    from skills_runtime.runs import parse_status

    workspace = checked_path(options.workspace_root, option="--workspace-root").resolve()
    selection = Selection(
        workspace_root=None if options.all else workspace,
        session_id=options.session,
        status=parse_status(options.status) if options.status else None,
        text=options.search,
        limit=options.limit,
    )
    with known_runs() as index:
        problems = update(index, selection)
        rows = select(index, selection)
    if options.json:
        write_rows(rows, sys.stdout.buffer)
        return 0
    show_problems(problems, program=program.name, no_color=options.no_color)
    show = show_tasks if options.session else show_rows
    show(rows, kinds=waiting_kinds(rows), program=program.name, no_color=options.no_color)
    return 0


COMMAND = Command(
    options=ListOptions,
    work=list_runs,
    examples=("runs list --status failed", "ls --session demo --search report"),
)
