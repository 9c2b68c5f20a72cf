"""approvals show: everything about one call that waits for an approval."""

import sys
from dataclasses import dataclass

from skills_runtime.cli.options import ApprovalReference, Json, NoColor, WorkspaceOptions
from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class ApprovalsShowOptions(WorkspaceOptions):
    """What `approvals show` takes."""

    approval: ApprovalReference
    json: Json = False
    no_color: NoColor = False


def show_approval(options: ApprovalsShowOptions, program: Program) -> int:
    """Show everything about a call that waits for an approval."""
    from skills_runtime.cli.machine import this_ledger
    from skills_runtime.cli.render.approvals import show_request, write_request
    from skills_runtime.cli.requests import find_request

    with this_ledger() as ledger:
        asked = find_request(options.approval, ledger, options.workspace_root)
    if options.json:
        write_request(asked, sys.stdout, program=program.name)
    else:
        show_request(asked, program=program.name, no_color=options.no_color)
    return 0


COMMAND = Command(
    options=ApprovalsShowOptions, work=show_approval, examples=("approvals show 3f2a", "approvals show demo-001 --json")
)
