"""Runs in a temporary directory: fresh, finished, forged, and compared without their ids and times."""

import hashlib
import shutil
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import msgspec

from skills_runtime.events import Event, Payload
from skills_runtime.events.envelope import MAC_TAIL_BYTES
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
from skills_runtime.runs import End, KeyRing, LogPorts, Run, RunPaths, RunStatus, files_of, finish_run
from skills_runtime.runs.create import create_run
from skills_runtime.runs.files import RunFiles
from skills_runtime.runs.log.chain import Chain
from skills_runtime.runs.spec import RunSpec
from skills_runtime.testing import FaultyDisk, FrozenClock

RUN_ID = "run_test"


def keys_in(directory: Path) -> KeyRing:
    """Return the keys of a test."""
    return KeyRing(directory / "state" / "keys")


def ports_in(directory: Path, *, disk: Disk | None = None, clock: Clock | None = None) -> LogPorts:
    """Return keys in `place`, a fixed clock, and a disk that counts."""
    return LogPorts(keys_in(directory), clock or FrozenClock(), disk or FaultyDisk())


def spec_in(directory: Path, **changes: Any) -> RunSpec:
    """Return the simplest run specification below `place`."""
    fields: dict[str, Any] = {
        "run_id": RUN_ID,
        "session_id": "session_test",
        "task_id": "task_test",
        "root": directory / "runs" / changes.get("run_id", RUN_ID),
        "workspace_root": directory,
        "prompt": "Say hello.\n",
        "config_text": "run: {}\n",
        "system_prompt": "You are a test.\n",
    }
    return RunSpec(**(fields | changes))


def new_run(directory: Path, *, disk: Disk | None = None, clock: Clock | None = None, **changes: Any) -> Run:
    """Create a run below `place`, open and pending."""
    return create_run(spec_in(directory, **changes), ports_in(directory, disk=disk, clock=clock))


def sample_events(*, end: bool = False) -> list[Payload]:
    """Return a short run with an answer, a call, an approval and a question."""
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


def filled_run(directory: Path, *, end: bool = False, **changes: Any) -> RunPaths:
    """Create a closed run with the committed sample events in its log."""
    run = new_run(directory, **changes)
    for payload in sample_events(end=end):
        run.append(payload)
    run.commit()
    run.save()
    run.close()
    return run.paths


def copy_of(paths: RunPaths, directory: Path, log: bytes | None = None) -> RunPaths:
    """Copy the run directory, with another log if one is given."""
    shutil.copytree(paths.root, directory, symlinks=True)
    if log is not None:
        (directory / "events.jsonl").write_bytes(log)
    return RunPaths(directory)


def lines_of(paths: RunPaths) -> list[bytes]:
    """Return the lines of a log, each with its newline."""
    return paths.events.read_bytes().splitlines(keepends=True)


def decoded(line: bytes) -> dict[str, Any]:
    """Decode a line as plain data."""
    return msgspec.json.decode(line)


def count_descriptors() -> int:
    """Return the number of open files of this process."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@contextmanager
def switching_often() -> Generator[None]:
    """Make threads switch at nearly every step, so that races become likely."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


REPORT = b"# Report\n\nAll is well.\n"
COMPLETED = RunCompleted(final_output="done")


def working_run(directory: Path, *, clock: Clock | None = None, **changes: Any) -> Run:
    """Return an open run that is running and has answered once."""
    run = new_run(directory, clock=clock, **changes)
    run.change(RunStatus.RUNNING)
    run.append(RunStarted(task="Say hello.", workspace_root=str(changes.get("workspace_root", directory))))
    run.append(LlmRequestStarted(model="scripted"), turn_id="turn_1")
    run.append(LlmResponseDelta(delta_type="text", text="Here you are."), turn_id="turn_1")
    run.append(LlmResponseFinished(finish_reason="stop"), turn_id="turn_1")
    return run


def files_in(run: Run) -> RunFiles:
    """Return the files of an isolated run, as its tools see them."""
    return files_of(run, run.paths.root, mode="isolated", delete="disabled")


def finished_run(directory: Path, end: End = COMPLETED, *, clock: Clock | None = None, **changes: Any) -> RunPaths:
    """Create a finished run that read its prompt, wrote a note and a report, and stored a secret."""
    run = working_run(directory, clock=clock, **changes)
    files = files_in(run).for_call("call_1")
    files.read("prompt.md", limit=1000)
    files.write("workspace/note.txt", b"a note", create_dirs=True)
    files.write("deliverables/report.md", REPORT, create_dirs=True)
    run.append(ToolCallRequested(call_id="call_2", tool="ask", name="ask", arguments_blob=run.put_blob(b"a secret")))
    finish_run(run, end)
    run.close()
    return run.paths


Change = Callable[[dict[str, Any]], None]


def rewrite_line(paths: RunPaths, number: int, change: Change) -> None:
    """Change one event of the log without changing its seal."""
    lines = lines_of(paths)
    tail = lines[number].removesuffix(b"\n")[-MAC_TAIL_BYTES:]
    data = decoded(lines[number])
    change(data)
    del data["mac"]
    lines[number] = msgspec.json.encode(data).removesuffix(b"}") + tail + b"\n"
    paths.events.write_bytes(b"".join(lines))


def seal_again(paths: RunPaths, keys: KeyRing) -> None:
    """Seal every line again with the key of this machine."""
    chain = Chain(keys.current().secret)
    bodies = [line.removesuffix(b"\n")[:-MAC_TAIL_BYTES] for line in lines_of(paths)]
    paths.events.write_bytes(b"".join(body + b',"mac":"' + chain.seal(body) + b'"}\n' for body in bodies))


def digest(data: bytes) -> str:
    """Return the SHA-256 of some bytes in hex."""
    return hashlib.sha256(data).hexdigest()


CHANCE = frozenset(
    {"duration_ms", "key_id", "message_id", "sent_at", "session_id", "task_id", "wal_locator", "workspace_root"}
)
"""Fields that hold an id, a time or a path."""
DIGESTS = frozenset({"config_fingerprint", "snapshots", "manifest"})
"""Fields with digests of files that contain ids, times or paths."""


def resumes_in(events: Iterable[Event]) -> int:
    """Return how often the run was resumed: each time leaves one such `run_started`."""
    return sum(map(_is_resume, events))


def story_of(events: Iterable[Event]) -> list[str]:
    """The log as lines that are the same for two runs which did the same.

    A `run_started` that only says that somebody went on is left out: that is the one trace a stop may leave. What is
    not compared besides are `seq` (those events count too), `epoch` (one for each opening) and `mac` (over all this).
    """
    return [_line(event) for event in events if not _is_resume(event)]


def _is_resume(event: Event) -> bool:
    return isinstance(event.payload, RunStarted) and bool(event.payload.resume.get("enabled"))


def _line(event: Event) -> str:
    payload = _lasting(msgspec.to_builtins(event.payload))
    result = {"type": event.type, "turn": event.turn_id, "step": event.step_id, "payload": payload}
    return msgspec.json.encode(result, order="sorted").decode()


def _lasting(value: Any) -> Any:
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {name: _lasting(payload) for name, payload in fields.items() if name not in CHANCE | DIGESTS}
    if isinstance(value, list):
        return [_lasting(payload) for payload in cast("list[Any]", value)]
    return value
