"""runs answer: answer what a run has asked."""

from dataclasses import dataclass, field
from typing import Annotated

import typer

from skills_runtime.cli.options import Json, RunOptions, RunReference
from skills_runtime.cli.program import Command, Misuse, Program


@dataclass(frozen=True, kw_only=True)
class AnswerOptions(RunOptions):
    """What `runs answer` takes."""

    run: RunReference
    text: Annotated[
        str | None,
        typer.Argument(metavar="TEXT", help="The answer, or the number of a choice; - reads stdin."),
    ] = None
    call: Annotated[str | None, typer.Option("--call", metavar="ID", help="Which question, when several are open.")] = (
        None
    )
    set: Annotated[
        list[str], typer.Option("--set", metavar="ID=TEXT", help="One of several answers, by its name; repeatable.")
    ] = field(default_factory=list[str])
    json: Json = False


def answer(options: AnswerOptions, program: Program) -> int:
    """Answer what a run has asked; it goes on with `runs resume`."""
    from skills_runtime.cli.counter import at_counter, when_read
    from skills_runtime.cli.prompt import read_words
    from skills_runtime.cli.render.receipts import write_receipt
    from skills_runtime.cli.settings import parse_answers

    if (options.text is None) == (not options.set):
        raise Misuse("give the answer once, as `TEXT` or as `--set ID=TEXT`")
    said = parse_answers(options.set) if options.text is None else read_words(options.text, "TEXT")
    with at_counter(options) as counter:
        message = counter.answer(said, options.call)
        state = counter.view().state
    told = f"the answer to `{message.body['call_id']}` is kept for the run `{message.run_id}`; {when_read(state)}"
    return write_receipt(message, told, counter.next_of(state, program.name), as_json=options.json)


COMMAND = Command(
    options=AnswerOptions,
    work=answer,
    examples=("runs answer demo-001 blue", "runs answer demo-001 --set colour=blue --set size=10"),
)
