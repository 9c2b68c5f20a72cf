"""sandbox exec: one command behind the fence."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skills_runtime.cli.fencing import FenceOptions, Variables, Words
from skills_runtime.cli.pairs import PairsCommand
from skills_runtime.cli.program import Command, Program

if TYPE_CHECKING:
    from skills_runtime.ports import SandboxPlan
    from skills_runtime.processes import Finished


@dataclass(frozen=True, kw_only=True)
class SandboxExecOptions(FenceOptions):
    """What `sandbox exec` takes."""

    command: Words
    setenv: Variables = field(default_factory=list[str])
    evidence: Annotated[
        str | None, typer.Option("--evidence", metavar="FILE", help="Write what the sandbox promised, as JSON.")
    ] = None


def sandbox_exec(options: SandboxExecOptions, program: Program) -> int:
    """Run a command behind the fence; streams and exit code pass through."""
    import asyncio

    from skills_runtime.cli.fencing import fence_from, variables_of
    from skills_runtime.ports import ProcessRequest

    del program
    fence, policy = fence_from(options)
    request = ProcessRequest(
        argv=tuple(options.command), cwd=policy.workspace, environment=variables_of(options.setenv)
    )
    plan = fence.plan(request)
    limits = policy.limits
    finished = asyncio.run(_run(plan, limits.wall_seconds, limits.output_bytes))
    if options.evidence is not None:
        _write_evidence(options.evidence, plan, finished)
    return _told(finished, limits.wall_seconds)


async def _run(plan: "SandboxPlan", wall_seconds: float | None, output_bytes: int | None) -> "Finished":
    import asyncio

    from skills_runtime.cli.interrupts import interrupts
    from skills_runtime.cli.passing import pass_through
    from skills_runtime.processes import Command as Process

    command = Process(plan.argv, plan.cwd, plan.environment, enclosure=plan.enclosure)
    stop = asyncio.Event()
    with interrupts(lambda: None) as interruption:
        waiting = asyncio.ensure_future(interruption.wait())
        waiting.add_done_callback(lambda _: stop.set())
        try:
            return await pass_through(command, wall_seconds=wall_seconds, output_bytes=output_bytes, stop=stop)
        finally:
            waiting.cancel()


def _told(finished: "Finished", wall_seconds: float | None) -> int:
    """The exit code, after a word about a command that was not let go on."""
    from skills_runtime.cli.edge import say
    from skills_runtime.errors import EXIT_CODES

    if finished.ended_by == "timeout":
        say(f"the command was ended after {wall_seconds:g} s", kind="timeout", hint="`--timeout` gives it more time")
        return EXIT_CODES["timeout"]
    if finished.ended_by in ("output_limit", "resource_limit"):
        limit = finished.exceeded or "output"
        say(f"the command was ended: it went beyond its limit of {limit}", kind="sandbox_denied", hint=_more(limit))
        return EXIT_CODES["sandbox_denied"]
    if finished.exit_code is not None:
        return finished.exit_code
    return 128 + (finished.signal or 0)


def _more(limit: str) -> str:
    return f"`--{limit}` gives it more" if limit in ("memory", "disk") else "write to a file instead"


def _write_evidence(path: str, plan: "SandboxPlan", finished: "Finished") -> None:
    import msgspec

    evidence = {
        **plan.evidence,
        "ended_by": finished.ended_by,
        "exceeded": finished.exceeded,
        "duration_ms": finished.duration_ms,
        "counted": dict(finished.counted),
    }
    Path(path).write_bytes(msgspec.json.format(msgspec.json.encode(evidence)) + b"\n")


COMMAND = Command(
    options=SandboxExecOptions,
    work=sandbox_exec,
    examples=(
        "sandbox exec --workspace . -- python3 script.py",
        "sandbox exec --setenv LEVEL 3 -- sh -c 'echo $LEVEL'",
    ),
    page=PairsCommand,
)
