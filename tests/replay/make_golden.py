"""Writes the golden runs of the current format, once: `python -m tests.replay.make_golden`.

A golden run is never made anew after a release; a change of the format gets a directory of its own beside it.
"""

import hashlib
import shutil
import tempfile
from pathlib import Path
from typing import ClassVar

from skills_runtime.events import Payload
from skills_runtime.events.payloads import (
    ApprovalDecided,
    ApprovalRequested,
    FileOperation,
    HumanRequest,
    HumanResponse,
    InboxReceived,
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
from skills_runtime.events.states import RunStatus
from skills_runtime.runs import Run, RunSpec, create_run, finish_run
from skills_runtime.runs.log import KeyRing, LogPorts
from skills_runtime.testing import CountingIds, FrozenClock

GOLDEN = Path(__file__).parent / "golden" / "v1"
KEY = b"everybody knows this golden key!"


class MoonPhaseObserved(Payload, frozen=True):
    """A type that no version knows yet."""

    event_type: ClassVar[str] = "moon_phase_observed"
    phase: str
    details: dict[str, int] = {}


class MoodyRequest(HumanRequest, frozen=True):
    """A known type with a field that no version knows yet."""

    event_type: ClassVar[str] = "human_request"
    mood: str = ""


def make(directory: Path) -> None:
    """Write the key and both runs below `place`."""
    (directory / "keys").mkdir(parents=True)
    (directory / "keys" / "log.key").write_bytes(KEY)
    (directory / "keys" / "log.key").chmod(0o600)
    ports = LogPorts(KeyRing(directory / "keys"), FrozenClock())
    ids = CountingIds()
    _complete(_created(directory, "complete", ids, ports))
    _future(_created(directory, "future", ids, ports))


def _created(directory: Path, name: str, ids: CountingIds, ports: LogPorts) -> Run:
    spec = RunSpec(
        run_id=ids.new("run"),
        session_id=ids.new("session"),
        task_id=ids.new("task"),
        root=directory / name,
        workspace_root=Path("/workspace"),
        prompt="Write a haiku about the sea.\n",
        config_text="run:\n  max_steps: 40\n",
        system_prompt="You are a poet.\n",
        earlier_tasks=(),
    )
    return create_run(spec, ports)


def _complete(run: Run) -> None:
    run.change(RunStatus.RUNNING)
    run.append(RunStarted(task="Write a haiku about the sea.", workspace_root="/workspace"))
    _first_turn(run)
    run.append(HumanRequest(call_id="call_2", question="Shall it have a title?", choices=["yes", "no"]))
    run.append(HumanResponse(call_id="call_2", answer="no"))
    run.append(InboxReceived(message_id="msg_1", position=1, kind="steer", body={"text": "be brief"}))
    run.append(PlanUpdated(call_id="call_3", plan=[{"step": "write", "status": "completed"}], explanation="done"))
    run.append(LlmRequestStarted(model="scripted", messages_count=4), turn_id="turn_2")
    run.append(
        LlmResponseDelta(delta_type="text", text="Done: `deliverables/haiku.txt`\n```\n大海\n```"), turn_id="turn_2"
    )
    run.append(LlmResponseFinished(finish_reason="stop", text_chars=42), turn_id="turn_2")
    run.append(LlmUsage(model="scripted", input_tokens=30, output_tokens=9, total_tokens=39), turn_id="turn_2")
    finish_run(run, RunCompleted(final_output="Done: `deliverables/haiku.txt`"))
    run.close()


def _first_turn(run: Run) -> None:
    turn, step = "turn_1", "step_1"
    run.append(LlmRequestStarted(model="scripted", messages_count=2, tools_count=9), turn_id=turn)
    blob = run.put_blob(b'{"path":"deliverables/haiku.txt","content":"waves"}')
    requested = ToolCallRequested(
        call_id="call_1",
        tool="file_write",
        name="file_write",
        arguments={"path": "deliverables/haiku.txt", "content_bytes": 5},
        arguments_blob=blob,
    )
    run.append(requested, turn_id=turn, step_id=step)
    run.append(LlmResponseFinished(finish_reason="tool_calls", calls=["call_1"]), turn_id=turn)
    run.append(
        LlmUsage(model="scripted", input_tokens=20, output_tokens=7, total_tokens=27, cached_tokens=3), turn_id=turn
    )
    request = ApprovalRequested(approval_key="k" * 64, tool="file_write", call_id="call_1", summary="write haiku.txt")
    decided = ApprovalDecided(approval_key="k" * 64, decision="approved", reason="provider", call_id="call_1")
    written = run.paths.deliverables / "haiku.txt"
    for payload in (request, decided, ToolCallStarted(call_id="call_1", tool="file_write", idempotency_key="i1")):
        run.append(payload, turn_id=turn, step_id=step)
    written.write_bytes(b"waves")
    digest = hashlib.sha256(b"waves").hexdigest()
    run.append(
        FileOperation(op="write", path="deliverables/haiku.txt", ok=True, size=5, sha256=digest, call_id="call_1")
    )
    result = {"ok": True, "duration_ms": 3, "data": {"bytes": 5}}
    run.append(ToolCallFinished(call_id="call_1", tool="file_write", result=result), turn_id=turn, step_id=step)


def _future(run: Run) -> None:
    run.append(RunStarted(task="Look at the moon.", workspace_root="/workspace"))
    run.append(MoonPhaseObserved(phase="gibbous", details={"illumination": 83}))
    run.append(MoodyRequest(call_id="call_1", question="Is it full?", mood="wistful"))
    run.append(HumanResponse(call_id="call_1", answer="nearly"))
    run.commit()
    run.save()
    run.close()


def main() -> None:
    """Write the golden directory; refuses where there is one."""
    if GOLDEN.exists():
        raise SystemExit(f"{GOLDEN} exists: golden runs are made once; remove it if the format was not released yet")
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="golden-") as file_path:
        make(Path(file_path) / "v1")
        shutil.copytree(Path(file_path) / "v1", GOLDEN, ignore=shutil.ignore_patterns("run.lock"))
        for path in GOLDEN.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)  # all that git keeps of it


if __name__ == "__main__":
    main()
