"""runs send: tell a run something while it works, or before it goes on."""

from dataclasses import dataclass
from typing import Annotated

import typer

from skills_runtime.cli.options import Json, RunOptions, RunReference
from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class SendOptions(RunOptions):
    """What `runs send` takes."""

    run: RunReference
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What the run should know; - reads stdin.")]
    json: Json = False


def send(options: SendOptions, program: Program) -> int:
    """Tell a run something; its model reads it at the next turn."""
    from skills_runtime.cli.counter import at_counter, when_read
    from skills_runtime.cli.prompt import read_words
    from skills_runtime.cli.render.receipts import write_receipt

    text = read_words(options.text, "TEXT")
    with at_counter(options) as counter:
        message = counter.desk.send(counter.paths, text)
        state = counter.view().state
    told = f"message {message.position} is kept for the run `{message.run_id}`; {when_read(state)}"
    return write_receipt(message, told, counter.next_of(state, program.name), as_json=options.json)


COMMAND = Command(
    options=SendOptions,
    work=send,
    examples=('runs send demo-001 "Leave the tests alone"', "runs send demo-001 - < notes.md"),
)
