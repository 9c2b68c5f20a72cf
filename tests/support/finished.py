"""Runs that have done something and ended, made without a model."""

from pathlib import Path
from typing import Any

from skills_runtime.events.payloads import (
    LlmRequestStarted,
    LlmResponseDelta,
    LlmResponseFinished,
    RunCompleted,
    RunStarted,
)
from skills_runtime.ports import Clock
from skills_runtime.runs import End, Run, RunPaths, RunStatus, files_of, finish_run
from skills_runtime.runs.files import RunFiles
from tests.support.runs import new_run

REPORT = b"# Report\n\nAll is well.\n"
COMPLETED = RunCompleted(final_output="done")


def working_run(place: Path, *, clock: Clock | None = None, **changes: Any) -> Run:
    """An open run that is running and has answered once."""
    run = new_run(place, clock=clock, **changes)
    run.change(RunStatus.RUNNING)
    run.append(RunStarted(task="Say hello.", workspace_root=str(changes.get("workspace_root", place))))
    run.append(LlmRequestStarted(model="scripted"), turn_id="turn_1")
    run.append(LlmResponseDelta(delta_type="text", text="Here you are."), turn_id="turn_1")
    run.append(LlmResponseFinished(finish_reason="stop"), turn_id="turn_1")
    return run


def files_in(run: Run) -> RunFiles:
    """The files of an isolated run, as its tools see them."""
    return files_of(run, run.paths.root, mode="isolated", delete="disabled")


def finished_run(place: Path, end: End = COMPLETED, *, clock: Clock | None = None, **changes: Any) -> RunPaths:
    """A closed run that read its prompt, wrote a note and a report, kept a secret, and ended."""
    run = working_run(place, clock=clock, **changes)
    files = files_in(run).for_call("call_1")
    files.read("prompt.md", limit=1000)
    files.write("workspace/note.txt", b"a note", create_dirs=True)
    files.write("deliverables/report.md", REPORT, create_dirs=True)
    run.keep(b"a secret")
    finish_run(run, end)
    run.close()
    return run.paths
