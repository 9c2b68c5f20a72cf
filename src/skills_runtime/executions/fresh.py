"""Runs a skill in a process and a fence that are made for it."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from skills_runtime.errors import SandboxError
from skills_runtime.executions.inside.zygote import LOWER
from skills_runtime.executions.jobs import Ended, EndedBy, Job, Sinks, Stop, sealed_input
from skills_runtime.ports import ProcessRequest, Sandbox, SandboxPlan
from skills_runtime.processes import Finished, Limits, execute_plan
from skills_runtime.sandbox.egress import Doorman

MakeFence = Callable[[Path], Sandbox]
"""The fence around everything that runs in a directory."""
MakeDoorman = Callable[[], Doorman]
"""Whoever watches the network of a skill that has one."""

GRACE_SECONDS = 0.0
"""What is ended has had its time."""
KEPT_BYTES = 4096


def no_network() -> Doorman:
    """Refuse: a fence that opens the network needs somebody who watches it."""
    raise SandboxError("nobody watches the network of this execution", hint="give the executor a doorman")


def plan_of(job: Job, fence: MakeFence) -> SandboxPlan:
    """The process behind its fence, or the fence's refusal."""
    request = ProcessRequest(
        argv=job.argv, cwd=job.cwd, environment=job.environment, readable=job.readable, permissions="inherit"
    )
    return fence(job.workspace).plan(request)


async def run_fresh(job: Job, plan: SandboxPlan, sinks: Sinks, stop: Stop, doorman: MakeDoorman = no_network) -> Ended:
    """Run it until nothing is left of it."""
    limits = Limits(
        wall_seconds=job.timeout_ms / 1000, output_bytes=KEPT_BYTES, grace_seconds=GRACE_SECONDS, lower=LOWER
    )
    ending = asyncio.Event()
    stop.on(ending.set)
    source = sealed_input(job.stdin)
    try:
        finished = await execute_plan(plan, limits, doorman, on_output=sinks.feed, stop=ending, source=source)
    finally:
        os.close(source)
    return Ended(
        ended_by=_ended_by(finished, stop),
        exit_code=finished.exit_code if finished.signal is None else -finished.signal,
        exceeded=finished.exceeded,
        isolation=plan.evidence,
    )


def _ended_by(finished: Finished, stop: Stop) -> EndedBy:
    if finished.ended_by in ("cancelled", "output_limit"):
        return stop.reason or "cancelled"
    return "timeout" if finished.ended_by == "timeout" else _by_itself(finished)


def _by_itself(finished: Finished) -> EndedBy:
    return "resource_limit" if finished.ended_by == "resource_limit" else "exit"
