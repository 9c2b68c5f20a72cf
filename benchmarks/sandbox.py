"""Measure a command in the full sandbox next to a plain one, and commands in an open session."""

import asyncio
import statistics
import subprocess
import time
from pathlib import Path

from benchmarks.fixture import directory
from benchmarks.measure import Number, report
from skills_runtime.ports import ProcessRequest, SandboxPlan
from skills_runtime.processes import Command, Limits, PtySession, execute
from skills_runtime.sandbox import OsSandbox, build_policy, find_adapters

ROUNDS = 60
LIMITS = Limits(wall_seconds=30.0, grace_seconds=0.5)
REQUEST_ARGV = ("/bin/true",)


def main() -> None:
    with directory() as base:
        workspace = (base / "workspace").resolve()
        (workspace / ".skills_runtime_sdk").mkdir(parents=True)  # as it is in the workspace of every run
        sandbox = OsSandbox(
            build_policy("workspace-write", workspace), find_adapters("bubblewrap"), {}, state=base / "state"
        )
        added, warm, planning = asyncio.run(_measured(sandbox, workspace))
    report(
        Number("`true` in the sandbox, over a plain spawn (median)", added, "ms", 15, "at most"),
        Number("`true` in a session that is open, over a plain spawn", warm, "ms", 1.5, "at most"),
        Number("planning a command, CPU", planning, "ms", 2, "at most"),
    )


async def _measured(sandbox: OsSandbox, workspace: Path) -> tuple[float, float, float]:
    request = ProcessRequest(argv=REQUEST_ARGV, cwd=workspace)
    plain = Command(REQUEST_ARGV, workspace, {})
    await execute(_command(sandbox.plan(request)), LIMITS)
    times: dict[str, list[float]] = {"spawned": [], "plain": [], "sandboxed": []}
    for _ in range(ROUNDS):
        start = time.perf_counter()
        subprocess.run(REQUEST_ARGV, check=True)
        times["spawned"].append(time.perf_counter() - start)
        times["plain"].append(await _timed(plain))
        start = time.perf_counter()
        await execute(_command(sandbox.plan(request)), LIMITS)
        times["sandboxed"].append(time.perf_counter() - start)
    start = time.process_time()
    for _ in range(ROUNDS):
        sandbox.plan(request)
    planning = (time.process_time() - start) / ROUNDS * 1000
    added = statistics.median(times["sandboxed"]) - statistics.median(times["spawned"])
    warm = statistics.median(await _in_session(sandbox, workspace)) - statistics.median(times["spawned"])
    return added * 1000, warm * 1000, planning


async def _in_session(sandbox: OsSandbox, workspace: Path) -> list[float]:
    """Return the seconds of many commands typed into one sandboxed shell, each until its output is complete."""
    plan = sandbox.plan(ProcessRequest(argv=("/bin/sh",), cwd=workspace, environment={"PS1": ""}, terminal=True))
    session = await PtySession.start(_command(plan))
    try:
        await _typed(session, b"stty -echo; echo ready-$((1+1))\n", b"ready-2")
        times: list[float] = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            await _typed(session, b"/bin/true; echo $?.\n", b"0.")
            times.append(time.perf_counter() - start)
        return times
    finally:
        await session.close()


async def _typed(session: PtySession, line: bytes, answer: bytes) -> None:
    await session.write(line)
    heard = b""
    while answer not in heard:
        heard += (await session.read(timeout_ms=10_000, until_idle_ms=0)).output.head


async def _timed(command: Command) -> float:
    start = time.perf_counter()
    await execute(command, LIMITS)
    return time.perf_counter() - start


def _command(plan: SandboxPlan) -> Command:
    return Command(plan.argv, plan.cwd, plan.environment, setup=plan.setup)


if __name__ == "__main__":
    main()
