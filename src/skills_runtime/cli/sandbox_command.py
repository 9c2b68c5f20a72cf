"""One command in the sandbox, with the streams of this process, and what became of it."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from skills_runtime.cli.errors import say
from skills_runtime.cli.evidence import evidence_file
from skills_runtime.cli.fencing import variables_of
from skills_runtime.cli.interrupts import interrupts
from skills_runtime.cli.passing import pass_through
from skills_runtime.cli.visits import Visits
from skills_runtime.errors import EXIT_CODES
from skills_runtime.ports import ProcessRequest, SandboxPlan
from skills_runtime.processes import Finished
from skills_runtime.sandbox import Fence, ResourceLimits, SandboxPolicy


def run_command(
    fence: Fence, policy: SandboxPolicy, command: Sequence[str], assignments: Sequence[str], evidence: str | None
) -> int:
    """Run a command in the sandbox with the streams of this process; the exit code is its own."""
    request = ProcessRequest(argv=tuple(command), cwd=policy.workspace, environment=variables_of(assignments))
    plan = fence.plan(request)
    limits = policy.limits
    visits = Visits()
    with evidence_file(evidence) as file:
        finished = asyncio.run(_run(plan, visits, limits))
        if file is not None:
            file.write(_evidence(visits.added_to(plan.evidence), finished))
    return _told(finished, limits.wall_seconds)


async def _run(plan: SandboxPlan, visits: Visits, limits: ResourceLimits) -> Finished:
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


def _told(finished: Finished, wall_seconds: float | None) -> int:
    """The exit code, after a word about a command that was not let go on."""
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


def _evidence(promised: Mapping[str, Any], finished: Finished) -> bytes:
    evidence = {
        **promised,
        "ended_by": finished.ended_by,
        "exceeded": finished.exceeded,
        "duration_ms": finished.duration_ms,
        "counted": dict(finished.counted),
    }
    return msgspec.json.format(msgspec.json.encode(evidence)) + b"\n"
