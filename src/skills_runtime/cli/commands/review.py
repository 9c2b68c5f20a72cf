"""runs review: accept a result that waits for review, or send it back."""

from dataclasses import dataclass
from typing import Annotated

import typer

from skills_runtime.cli.options import Json, RunOptions
from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class ApproveOptions(RunOptions):
    """What `runs review approve` takes."""

    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="What to remember about it.")] = ""
    json: Json = False


@dataclass(frozen=True, kw_only=True)
class ReviseOptions(RunOptions):
    """What `runs review revise` takes."""

    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="What should be different; - reads stdin.")]
    json: Json = False


def approve(options: ApproveOptions, program: Program) -> int:
    """Accept the result of a run; it is completed then."""
    from skills_runtime.cli.counter import at_counter
    from skills_runtime.cli.execution import exit_code_for
    from skills_runtime.cli.machine import checked_text
    from skills_runtime.cli.render.receipts import Receipt, write_receipt

    note = checked_text(options.note, "--note")
    with at_counter(options) as counter:
        status = counter.desk.approve(counter.paths, note)
        counter.record()
        state = counter.view().state
    reason = f": {state.failure_reason}" if state.failure_reason else ""
    receipt = Receipt(run_id=state.run_id, status=status.value, note=note)
    write_receipt(receipt, f"approved; the run `{state.run_id}` is {status}{reason}", as_json=options.json)
    return exit_code_for(status)


def revise(options: ReviseOptions, program: Program) -> int:
    """Send the result of a run back to work, with a note that its model reads next."""
    from skills_runtime.cli.counter import at_counter
    from skills_runtime.cli.prompt import read_words
    from skills_runtime.cli.render.receipts import Receipt, write_receipt

    note = read_words(options.note, "--note")
    with at_counter(options) as counter:
        status = counter.desk.revise(counter.paths, note)
        counter.record()
        state = counter.view().state
    receipt = Receipt(run_id=state.run_id, status=status.value, note=note)
    told = f"the run `{state.run_id}` is to be revised; it reads your note when it goes on"
    return write_receipt(receipt, told, counter.next_of(state, program.name), as_json=options.json)


APPROVE = Command(
    options=ApproveOptions,
    work=approve,
    examples=("runs review approve demo-001", 'runs review approve demo-001 --note "Checked by Ada"'),
)
REVISE = Command(
    options=ReviseOptions,
    work=revise,
    examples=(
        'runs review revise demo-001 --note "Shorter, please"',
        "runs review revise demo-001 --note - < notes.md",
    ),
)
