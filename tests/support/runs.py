"""Runs in a temporary directory, and events to fill them with."""

import shutil
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime.events import Payload
from skills_runtime.events.payloads import (
    ApprovalDecided,
    ApprovalRequested,
    HumanRequest,
    HumanResponse,
    LlmRequestStarted,
    LlmResponseDelta,
    LlmResponseFinished,
    LlmUsage,
    PlanUpdated,
    RunCompleted,
    RunStarted,
    ToolCallFinished,
    ToolCallRequested,
    ToolCallStarted,
)
from skills_runtime.ports import Clock, Disk
from skills_runtime.runs.create import create_run
from skills_runtime.runs.layout import RunPaths
from skills_runtime.runs.log import KeyRing, LogPorts
from skills_runtime.runs.run import Run
from skills_runtime.runs.spec import RunSpec
from skills_runtime.testing import FaultyDisk, FrozenClock

RUN_ID = "run_test"


def keys_in(place: Path) -> KeyRing:
    """The keys of a test."""
    return KeyRing(place / "state" / "keys")


def ports_in(place: Path, *, disk: Disk | None = None, clock: Clock | None = None) -> LogPorts:
    """Keys in `place`, a clock that stands still, and a disk that counts."""
    return LogPorts(keys_in(place), clock or FrozenClock(), disk or FaultyDisk())


def spec_in(place: Path, **changes: Any) -> RunSpec:
    """A run below `place`, as plain as can be."""
    fields: dict[str, Any] = {
        "run_id": RUN_ID,
        "session_id": "session_test",
        "task_id": "task_test",
        "root": place / "runs" / changes.get("run_id", RUN_ID),
        "workspace_root": place,
        "prompt": "Say hello.\n",
        "config_text": "run: {}\n",
        "system_prompt": "You are a test.\n",
    }
    return RunSpec(**(fields | changes))


def new_run(place: Path, *, disk: Disk | None = None, clock: Clock | None = None, **changes: Any) -> Run:
    """A new run below `place`, open and pending."""
    return create_run(spec_in(place, **changes), ports_in(place, disk=disk, clock=clock))


def sample_events(*, end: bool = False) -> list[Payload]:
    """A short run with a bit of everything: an answer, a call, an approval, a question."""
    events: list[Payload] = [
        RunStarted(task="Say hello.", workspace_root="/nowhere"),
        LlmRequestStarted(model="scripted", messages_count=2, tools_count=1),
        LlmResponseDelta(delta_type="text", text="Grüß Gott 你好"),
        ToolCallRequested(call_id="call_1", tool="write", name="write", arguments={"path": "a\nb", "size": 3}),
        LlmResponseFinished(finish_reason="tool_calls", text_chars=12, calls=["call_1"]),
        LlmUsage(model="scripted", input_tokens=10, output_tokens=5, total_tokens=15),
        ApprovalRequested(approval_key="key_1", tool="write", call_id="call_1", summary="write a file"),
        ApprovalDecided(approval_key="key_1", decision="approved", reason="provider", call_id="call_1"),
        ToolCallStarted(call_id="call_1", tool="write", arguments_sha256="0" * 64),
        ToolCallFinished(call_id="call_1", tool="write", result={"ok": True, "duration_ms": 4}),
        HumanRequest(call_id="call_2", question="Which?", choices=["this", "that"]),
        HumanResponse(call_id="call_2", answer="this"),
        PlanUpdated(call_id="call_3", plan=[{"step": "greet", "status": "done"}]),
    ]
    return [*events, RunCompleted(final_output="Hello.")] if end else events


def filled_run(place: Path, *, end: bool = False, **changes: Any) -> RunPaths:
    """A closed run with the sample events in its log, all of them committed."""
    run = new_run(place, **changes)
    for payload in sample_events(end=end):
        run.append(payload)
    run.commit()
    run.save()
    run.close()
    return run.paths


def copy_of(paths: RunPaths, place: Path, log: bytes | None = None) -> RunPaths:
    """The same run directory somewhere else, with another log if one is given."""
    shutil.copytree(paths.root, place, symlinks=True)
    if log is not None:
        (place / "events.jsonl").write_bytes(log)
    return RunPaths(place)


def lines_of(paths: RunPaths) -> list[bytes]:
    """The lines of a log, each with its newline."""
    return paths.events.read_bytes().splitlines(keepends=True)


def decoded(line: bytes) -> dict[str, Any]:
    """A line as plain data."""
    return msgspec.json.decode(line)


def count_descriptors() -> int:
    """How many files this process has open."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@contextmanager
def switching_often() -> Generator[None]:
    """Let threads take turns at nearly every step, so that what can go wrong between two steps does."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
