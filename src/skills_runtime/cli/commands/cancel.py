"""runs cancel: end a run for good."""

from dataclasses import dataclass
from typing import Annotated

import typer

from skills_runtime.cli.options import Json, RunOptions
from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class CancelOptions(RunOptions):
    """What `runs cancel` takes."""

    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, for the log.")] = "cancelled"
    json: Json = False


def cancel(options: CancelOptions, program: Program) -> int:
    """End a run for good, and return when it has ended."""
    from skills_runtime.cli.cancelling import cancel_run
    from skills_runtime.cli.counter import at_counter
    from skills_runtime.cli.machine import checked_text
    from skills_runtime.cli.render.receipts import Receipt, write_receipt

    reason = checked_text(options.reason, "--reason")
    with at_counter(options) as counter:
        state = cancel_run(counter.desk, counter.paths, counter.ports, reason)
        counter.record()
    receipt = Receipt(run_id=state.run_id, status=state.status.value, reason=reason)
    return write_receipt(receipt, f"the run `{state.run_id}` is cancelled", as_json=options.json)


COMMAND = Command(
    options=CancelOptions,
    work=cancel,
    examples=("runs cancel demo-001", 'runs cancel demo-001 --reason "not needed any more"'),
)
