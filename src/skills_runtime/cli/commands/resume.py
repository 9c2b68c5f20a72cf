"""runs resume: go on with a run that has not ended."""

from dataclasses import dataclass
from typing import Annotated

import typer

from skills_runtime.cli.options import ConfigOptions, RunOptions, ViewOptions
from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class ResumeOptions(RunOptions, ConfigOptions, ViewOptions):
    """What `runs resume` takes."""

    adopt: Annotated[
        bool, typer.Option("--adopt", help="Take the run over from a machine whose key is not here; recorded.")
    ] = False


def resume(options: ResumeOptions, program: Program) -> int:
    """Go on with a run that was stopped, killed, or is waiting."""
    from skills_runtime.agent import RunRequest
    from skills_runtime.agent.assemble import backend_for
    from skills_runtime.cli.continuing import refuse_unreviewed, settings_of, state_of
    from skills_runtime.cli.execution import Plan, Resumed
    from skills_runtime.cli.locate import find_run
    from skills_runtime.cli.people import people_here
    from skills_runtime.cli.working import work_on

    paths = find_run(options.run, options.workspace_root)
    state = state_of(paths)
    refuse_unreviewed(state, options.run, program.name)
    resolved = settings_of(paths, state, options)
    prompt = (paths.root / "prompt.md").read_text(encoding="utf-8")
    plan = Plan(resolved, backend_for(resolved), RunRequest(prompt=prompt), Resumed(paths.root, options.adopt))
    return work_on(lambda _: (plan, resolved.notices), options, program, people_here(options)).exit_code


COMMAND = Command(
    options=ResumeOptions,
    work=resume,
    examples=("runs resume demo-001", "runs resume ./runs/demo-001 --set run.max_steps=80"),
)
