"""runs resume: go on with a run that has not ended."""

from dataclasses import dataclass
from typing import Annotated

import typer

from skills_runtime.cli.options import ApprovalOptions, RunOptions, WorkOptions
from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class ResumeOptions(RunOptions, WorkOptions, ApprovalOptions):
    """What `runs resume` takes."""

    adopt: Annotated[
        bool, typer.Option("--adopt", help="Take the run over from a machine whose key is not here; recorded.")
    ] = False


def resume(options: ResumeOptions, program: Program) -> int:
    """Go on with a run that was stopped, killed, or is waiting."""
    from skills_runtime.cli.locate import find_run
    from skills_runtime.cli.resuming import resume_run

    paths = find_run(options.run, options.workspace_root)
    return resume_run(
        paths, options, program, approvals=options.approvals, adopt=options.adopt, reference=options.run
    ).exit_code


COMMAND = Command(
    options=ResumeOptions,
    work=resume,
    examples=("runs resume demo-001", "runs resume ./runs/demo-001 --set run.max_steps=80"),
)
