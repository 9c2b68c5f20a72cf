"""sandbox plan: what would be started, without starting it."""

import sys
from dataclasses import dataclass, field

from skills_runtime.cli.fencing import FenceOptions, Variables, Words
from skills_runtime.cli.options import Json
from skills_runtime.cli.pairs import PairsCommand
from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class SandboxPlanOptions(FenceOptions):
    """What `sandbox plan` takes."""

    command: Words
    setenv: Variables = field(default_factory=list[str])
    json: Json = False


def sandbox_plan(options: SandboxPlanOptions, program: Program) -> int:
    """Show how a command would be started behind the fence."""
    import msgspec

    from skills_runtime.cli.fencing import fence_from, variables_of
    from skills_runtime.cli.render.sandboxing import plan_values, write_plan
    from skills_runtime.ports import ProcessRequest

    del program
    fence, policy = fence_from(options)
    request = ProcessRequest(
        argv=tuple(options.command), cwd=policy.workspace, environment=variables_of(options.setenv)
    )
    plan, enclosed = fence.explain(request)
    values = plan_values(plan, enclosed)
    if options.json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(values)).decode() + "\n")
    else:
        write_plan(values, sys.stdout)
    return 0


COMMAND = Command(
    options=SandboxPlanOptions,
    work=sandbox_plan,
    examples=("sandbox plan -- make test", "sandbox plan --profile read-only --json -- ls"),
    page=PairsCommand,
)
