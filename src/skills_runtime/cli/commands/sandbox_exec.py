"""sandbox exec: one command behind the fence."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skills_runtime.cli.fencing import FenceOptions, Variables, Words
from skills_runtime.cli.pairs import PairsCommand
from skills_runtime.cli.program import Command, Misuse, Program

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skills_runtime.cli.visits import Visits
    from skills_runtime.ports import SandboxPlan
    from skills_runtime.processes import Finished
    from skills_runtime.sandbox import Fence, ResourceLimits, SandboxPolicy


def _refuse_overlay(context: typer.Context, given: bool) -> None:  # noqa: FBT001 - typer calls it
    if given:
        raise Misuse(
            "`--overlay` was removed: copy the workspace, for example with `git worktree add`, and name the copy with"
            " `--workspace`",
            context,
        )


@dataclass(frozen=True, kw_only=True)
class SandboxExecOptions(FenceOptions):
    """What `sandbox exec` takes."""

    command: Words
    setenv: Variables = field(default_factory=list[str])
    evidence: Annotated[
        str | None, typer.Option("--evidence", metavar="FILE", help="Write what the sandbox promised, as JSON.")
    ] = None
    overlay: Annotated[bool, typer.Option("--overlay", hidden=True, callback=_refuse_overlay)] = False


def sandbox_exec(options: SandboxExecOptions, program: Program) -> int:
    """Run a command behind the fence; streams and exit code pass through."""
    from skills_runtime.cli.fencing import fence_from

    del program
    fence, policy = fence_from(options)
    return _executed(options, fence, policy)


def _executed(options: SandboxExecOptions, fence: "Fence", policy: "SandboxPolicy") -> int:
    import asyncio

    from skills_runtime.cli.evidence import evidence_file
    from skills_runtime.cli.fencing import variables_of
    from skills_runtime.cli.visits import Visits
    from skills_runtime.ports import ProcessRequest

    request = ProcessRequest(
        argv=tuple(options.command), cwd=policy.workspace, environment=variables_of(options.setenv)
    )
    plan = fence.plan(request)
    limits = policy.limits
    visits = Visits()
    with evidence_file(options.evidence) as file:
        finished = asyncio.run(_run(plan, visits, limits))
        if file is not None:
            file.write(_evidence(visits.added_to(plan.evidence), finished))
    return _told(finished, limits.wall_seconds)


async def _run(plan: "SandboxPlan", visits: "Visits", limits: "ResourceLimits") -> "Finished":
    import asyncio

    from skills_runtime.cli.interrupts import interrupts
    from skills_runtime.cli.passing import pass_through

    stop = asyncio.Event()
    with interrupts(lambda: None) as interruption:
        waiting = asyncio.ensure_future(interruption.wait())
        waiting.add_done_callback(lambda _: stop.set())
        try:
            return await pass_through(
                plan,
                visits.doorman,
                wall_seconds=limits.wall_seconds,
                output_bytes=limits.output_bytes,
                stop=stop,
            )
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


def _evidence(promised: "Mapping[str, Any]", finished: "Finished") -> bytes:
    import msgspec

    evidence = {
        **promised,
        "ended_by": finished.ended_by,
        "exceeded": finished.exceeded,
        "duration_ms": finished.duration_ms,
        "counted": dict(finished.counted),
    }
    return msgspec.json.format(msgspec.json.encode(evidence)) + b"\n"


COMMAND = Command(
    options=SandboxExecOptions,
    work=sandbox_exec,
    examples=(
        "sandbox exec --workspace . --setenv LEVEL 3 -- python3 script.py",
        "sandbox exec --profile workspace-net --allow-host example.com -- curl https://example.com/",
    ),
    page=PairsCommand,
)
