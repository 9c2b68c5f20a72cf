"""transcript: a run as prose."""

import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from skills_runtime.cli.options import RunOptions
from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class TranscriptOptions(RunOptions):
    """What `transcript` takes."""

    check: Annotated[bool, typer.Option("--check", help="Only say whether transcript.md is what the log gives.")] = (
        False
    )


def transcript(options: TranscriptOptions, program: Program) -> int:
    """Write a run as prose, made from its log."""
    from skills_runtime.cli.locate import find_run
    from skills_runtime.cli.render.answer import write_text
    from skills_runtime.projections import render
    from skills_runtime.runs import read_events
    from skills_runtime.runs.derived import transcript_agrees

    paths = find_run(options.run, options.workspace_root)
    if not options.check:
        for piece in render(read_events(paths)):
            write_text(piece)
        return 0
    if transcript_agrees(paths, read_events(paths)):
        sys.stdout.write("the transcript is what the log gives\n")
        return 0
    sys.stdout.write("the transcript is not the one the log gives\n")
    return 20


COMMAND = Command(
    options=TranscriptOptions,
    work=transcript,
    examples=("transcript ./runs/demo-001", "transcript demo-001 --check"),
)
