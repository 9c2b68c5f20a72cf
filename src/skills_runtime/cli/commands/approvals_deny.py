"""approvals deny: no to a call that waits for an approval."""

from dataclasses import dataclass
from typing import Annotated

import typer

from skills_runtime.cli.options import DecisionOptions
from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class DenyOptions(DecisionOptions):
    """What `approvals deny` takes."""

    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; the model reads it.")] = ""
    abort: Annotated[bool, typer.Option("--abort", help="End the run, too.")] = False


def deny(options: DenyOptions, program: Program) -> int:
    """Refuse a call that waits for an approval, and go on with its run, or end it."""
    from skills_runtime.cli.deciding import decide, go_on, look_up
    from skills_runtime.cli.machine import checked_text, this_ledger
    from skills_runtime.ports import Decision

    reason = checked_text(options.reason, "--reason")
    with this_ledger() as ledger:
        asked = look_up(options, ledger, program)
        message = decide(asked, Decision(decision="abort" if options.abort else "denied", note=reason), ledger)
    return go_on(asked, message, options, program)


COMMAND = Command(
    options=DenyOptions,
    work=deny,
    examples=('approvals deny 3f2a --reason "Use the mirror"', "approvals deny 3f2a --abort"),
)
