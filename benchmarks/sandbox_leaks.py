"""Measure what many sandboxed commands in a row leave behind: descriptors, processes, control groups, files."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from benchmarks.fixture import directory
from benchmarks.measure import Number, report
from skills_runtime.ports import ProcessRequest
from skills_runtime.processes import Command, Limits, execute
from skills_runtime.processes.launcher import dismiss
from skills_runtime.sandbox import OsSandbox, build_policy, find_adapters

COMMANDS = 1000
LIMITS = Limits(wall_seconds=30.0, grace_seconds=0.5)
SCRIPT = "setsid -f sleep 100; echo x > made; rm made"
"""Starts a process that would outlive it, and writes a file."""
GROUPS = "skills-runtime-"

Traces = Mapping[str, set[str]]


def main() -> None:
    with directory() as base:
        workspace = (base / "workspace").resolve()
        workspace.mkdir()
        left = asyncio.run(left_after(COMMANDS, workspace))
    report(*(Number(f"{kind} left after {COMMANDS:,} commands", len(left[kind]), "", 0, "at most") for kind in left))


async def left_after(number: int, workspace: Path) -> Traces:
    """Return what has increased after this many commands, once the launcher is closed."""
    state = workspace.with_name(f"{workspace.name}-state")
    sandbox = OsSandbox(build_policy("workspace-write", workspace), find_adapters("bubblewrap"), {}, state=state)
    await _run(sandbox, workspace)
    dismiss()
    before = _traces(workspace)
    for _ in range(number):
        await _run(sandbox, workspace)
    dismiss()
    first = _settled(workspace, before)
    await _run(sandbox, workspace)  # other processes come and go: only what exists at both samples counts
    dismiss()
    second = _settled(workspace, before)
    return {kind: first[kind] & second[kind] for kind in before}


async def _run(sandbox: OsSandbox, workspace: Path) -> None:
    plan = sandbox.plan(ProcessRequest(argv=("/bin/sh", "-c", SCRIPT), cwd=workspace))
    done = await execute(Command(plan.argv, plan.cwd, plan.environment, setup=plan.setup), LIMITS)
    if done.exit_code != 0:
        raise SystemExit(done.stderr.text())


def _settled(workspace: Path, before: Traces) -> Traces:
    """Return what is new after the launcher has ended, which may take a moment."""
    pending = {int(pid) for pid in _children() - before["processes"]}
    for pid in pending:
        try:
            os.waitpid(pid, 0)
        except ChildProcessError:
            continue
    now = _traces(workspace)
    return {kind: now[kind] - before[kind] for kind in before}


def _traces(workspace: Path) -> Traces:
    return {
        "descriptors": {f"{path.name} {_target(path)}" for path in Path("/proc/self/fd").iterdir()} - {""},
        "processes": _children(),
        "groups": {str(path) for path in Path("/sys/fs/cgroup").glob(f"**/{GROUPS}*") if not _in_use(path)},
        "files": {str(path) for path in workspace.rglob("*")},
    }


def _in_use(group: Path) -> bool:
    """Return whether a group's supervisor lives: then it belongs to another process, for ours has been dismissed."""
    return Path("/proc", group.name.removeprefix(GROUPS).partition("-")[0]).exists()


def _target(path: Path) -> str:
    try:
        found = str(path.readlink())
    except OSError:
        return "gone"
    return "listing" if found.startswith("/proc/") else found


def _children() -> set[str]:
    own = os.getpid()
    return set(Path(f"/proc/{own}/task/{own}/children").read_text(encoding="utf-8").split())


if __name__ == "__main__":
    main()
