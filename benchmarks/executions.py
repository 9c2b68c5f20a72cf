"""Measure the CPU time of small skills in prepared processes, next to plain spawns without a sandbox."""

import asyncio
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

from benchmarks.fixture import directory
from benchmarks.measure import Number, report
from skills_runtime.config import SandboxSettings
from skills_runtime.executions import Executor, Supplies, stages_in_memory
from skills_runtime.ports import Sandbox
from skills_runtime.sandbox import build_sandbox
from skills_runtime.sandbox.supervision import process_tree
from skills_runtime.skills import FilesystemSource, Library, Origin, Skill

ROUNDS = 200
SCRIPTS = {
    "python": ("run.py", "import json, sys\nprint(json.dumps({'got': json.load(sys.stdin)}))\n", sys.executable),
    "shell": ("run.sh", 'IFS= read -r line\necho "{\\"got\\": $line}"\n', "bash"),
}
TICKS = os.sysconf("SC_CLK_TCK")
LOUD = "import os\nfor _ in range(200):\n    os.write(1, b'x' * 1_000_000)\n"


def main() -> None:
    with directory() as base:
        numbers = asyncio.run(_measured(base.resolve()))
    report(*numbers)


async def _measured(base: Path) -> list[Number]:
    root = base / "executions"
    supplies = Supplies(stages=stages_in_memory(root))

    def build_sandbox_for(workspace: Path) -> Sandbox:
        return build_sandbox(SandboxSettings(), workspace=workspace, variables={})

    numbers: list[Number] = []
    async with Executor(root, build_sandbox_for, supplies=supplies) as executor:
        for runtime, bound in (("python", 6), ("shell", 5)):
            skill = _skill(base, runtime, SCRIPTS[runtime][1])
            await executor.execute(skill, {"a": 1})
            spent = await _cpu_of(executor, skill)
            numbers.append(Number(f"{runtime} execution that waits, CPU", spent, "ms", bound, "at most"))
            plain = _plain(skill, SCRIPTS[runtime])
            numbers.append(Number(f"{runtime} plain spawn, no sandbox, CPU", plain, "ms", 1000, "at most"))
        numbers.append(await _growth(executor, _skill(base, "python", LOUD, name="loud")))
    return numbers


async def _cpu_of(executor: Executor, skill: Skill) -> float:
    before = _spent()
    for _ in range(ROUNDS):
        execution = await executor.execute(skill, {"a": 1})
        if execution.status != "completed" or not execution.record.warm:
            raise SystemExit(f"{execution.record}")
    return (_spent() - before) / ROUNDS * 1000


async def _growth(executor: Executor, skill: Skill) -> Number:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    execution = await executor.execute(skill, {}, timeout_ms=60_000)
    if execution.error is None or execution.error.code != "stdout_limit":
        raise SystemExit(f"{execution.record}")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return Number("200 MB on standard output, memory grows by", grown, "MB", 50, "at most")


def _skill(base: Path, runtime: str, code: str, *, name: str | None = None) -> Skill:
    directory = base / "skills" / (name or runtime)
    directory.mkdir(parents=True)
    (directory / SCRIPTS[runtime][0]).write_text(code)
    (directory / "skill.yaml").write_text(json.dumps({"name": directory.name, "runtime": {"type": runtime}}))
    library = Library([FilesystemSource(Origin("given", "given", "given"), directory.parent)])
    return next(skill for skill in library.list() if skill.name == directory.name)


def _plain(skill: Skill, script: tuple[str, str, str]) -> float:
    """Return the CPU time of the process alone, without its start."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(ROUNDS // 4):
        subprocess.run(
            [script[2], script[0]], cwd=skill.directory, input=b'{"a": 1}', stdout=subprocess.DEVNULL, check=True
        )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / (ROUNDS // 4) * 1000


def _spent() -> float:
    """Return the CPU seconds of this process and all descendants, ended or not; sandboxes are among them."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    ticks = 0
    for process in process_tree.find_descendants(process_tree.list_processes(), os.getpid()):
        try:
            fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))
    return own.ru_utime + own.ru_stime + ticks / TICKS


if __name__ == "__main__":
    main()
