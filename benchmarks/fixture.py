"""Runs for benchmarks."""

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from skills_runtime.events.payloads import ToolCallFinished
from skills_runtime.runs import KeyRing, LogPorts, Run, RunSpec, create_run

FINISHED = ToolCallFinished(call_id="call_1", tool="file_read", result={"ok": True, "stdout": "x" * 300})


@contextmanager
def directory() -> Generator[Path]:
    """Return an empty directory on the disk of temporary files."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        yield Path(name)


def new_run(base: Path, run_id: str = "run_bench") -> Run:
    """Create a run in state `pending`."""
    spec = RunSpec(
        run_id=run_id,
        session_id="sess_bench",
        task_id="task_bench",
        root=base / "runs" / run_id,
        workspace_root=base,
        prompt="measure",
        config_text="a: 1\n",
        system_prompt="be fast",
    )
    return create_run(spec, LogPorts(keys=KeyRing(base / "keys")))
