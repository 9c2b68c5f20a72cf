"""runs fork: another way on from any event of a run."""

from dataclasses import dataclass
from typing import Annotated

import typer

from skills_runtime.cli.options import ApprovalOptions, RunOptions, WorkOptions
from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class ForkOptions(RunOptions, WorkOptions, ApprovalOptions):
    """What `runs fork` takes."""

    at: Annotated[
        int | None, typer.Option("--at", metavar="SEQ", help="The last event to keep; the end if left out.")
    ] = None
    prompt: Annotated[str | None, typer.Option("--prompt", "-p", metavar="TEXT", help="Another task.")] = None
    sandbox: Annotated[str | None, typer.Option("--sandbox", metavar="DIR", help="The new run directory.")] = None
    run_id: Annotated[str | None, typer.Option("--run-id", metavar="ID", help="The id of the new run.")] = None


def fork(options: ForkOptions, program: Program) -> int:
    """Start a new run that goes on from an event of another one."""
    from skills_runtime.agent import RunRequest
    from skills_runtime.cli.continuing import settings_of, state_of
    from skills_runtime.cli.locate import find_run
    from skills_runtime.cli.machine import checked_path, log_ports
    from skills_runtime.cli.people import people_here
    from skills_runtime.cli.planning import plan_run
    from skills_runtime.cli.working import work_on
    from skills_runtime.runs import check_id, fork_point
    from skills_runtime.safety.policy.rule_files import user_rule_file

    if options.run_id is not None:
        check_id(options.run_id, "run")
    paths = find_run(options.run, options.workspace_root)
    state = state_of(paths)
    point = fork_point(paths.root, state.last_seq if options.at is None else options.at, log_ports())
    request = RunRequest(
        prompt=options.prompt or (paths.root / "prompt.md").read_text(encoding="utf-8"),
        sandbox_path=checked_path(options.sandbox, option="--sandbox") if options.sandbox is not None else None,
        session_id=state.session_id,
        task_id=state.task_id,
        run_id=options.run_id,
        fork=point,
    )
    resolved = settings_of(paths, state, options)
    people = people_here(options, options.approvals, rule_file=user_rule_file(resolved))
    return work_on(lambda index: plan_run(resolved, request, index), options, program, people).exit_code


COMMAND = Command(
    options=ForkOptions,
    work=fork,
    examples=("runs fork demo-001 --at 12", 'runs fork demo-001 --prompt "And now in Chinese"'),
)
