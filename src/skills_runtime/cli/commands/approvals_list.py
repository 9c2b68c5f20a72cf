"""approvals list: what waits for somebody's yes or no."""

import sys
from dataclasses import dataclass

from skills_runtime.cli.options import Json, NoColor, WorkspaceOptions
from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class ApprovalsListOptions(WorkspaceOptions):
    """What `approvals list` takes."""

    json: Json = False
    no_color: NoColor = False


def list_approvals(options: ApprovalsListOptions, program: Program) -> int:
    """List the calls that wait for an approval, oldest first."""
    from skills_runtime.cli.machine import this_ledger
    from skills_runtime.cli.render.approvals import show_requests, write_requests
    from skills_runtime.cli.requests import open_requests

    with this_ledger() as ledger:
        requests = open_requests(ledger, options.workspace_root)
    if options.json:
        write_requests(requests, sys.stdout.buffer)
    else:
        show_requests(requests, program=program.name, no_color=options.no_color)
    return 0


COMMAND = Command(
    options=ApprovalsListOptions, work=list_approvals, examples=("approvals list", "approvals list --json")
)
