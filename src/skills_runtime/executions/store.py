"""Store executions: stages, records and streams, from start to end or recovery."""

import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime.clock import SystemClock
from skills_runtime.errors import StorageFailed
from skills_runtime.executions import contract
from skills_runtime.executions.artifacts import collect_artifacts
from skills_runtime.executions.jobs import ARTIFACTS, SKILL, JobOutcome, Sink, Sinks, Stop
from skills_runtime.executions.layout import (
    INPUT,
    OUTPUT,
    STDERR,
    STDOUT,
    ExecutionLayout,
    Keys,
    Owner,
    find_dead_owners,
    is_alive,
    read_record,
    write_first_record,
    write_record,
)
from skills_runtime.executions.snapshot import SkillSnapshot, SnapshotCache
from skills_runtime.executions.values import Execution, ExecutionLimits, Failure, Record, Status
from skills_runtime.skills import RunDefinition, Skill
from skills_runtime.storage import (
    remove_tree,
    sync_path,
    write_new,
)

INTERRUPTED = Failure(code="interrupted", message="Execution was interrupted: the process that ran it ended")
LOST = "Execution was lost: the process it ran in was ended"
CANCELLED = Failure(code="cancelled", message="Execution was cancelled")


class ExecutionIds(msgspec.Struct, frozen=True, kw_only=True):
    """The run and call that an execution belongs to, and its id if one is required."""

    execution_id: str | None = None
    run_id: str | None = None
    call_id: str | None = None


class ExecutionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A validated request for an execution."""

    skill: Skill
    run: RunDefinition
    data: bytes
    request: str
    timeout_ms: int
    key: str | None = None
    """The digest of the idempotency key."""
    ids: ExecutionIds

    @property
    def durable(self) -> bool:
        """Return whether it must survive a power loss: a key promises one execution, and a run's log refers to it."""
        return self.key is not None or self.ids.run_id is not None


class StartedExecution:
    """An execution with a directory, a record with the status `running`, and a copy of its skill."""

    def __init__(self, record: Record, directory: Path, stage: Path, snapshot: SkillSnapshot, sinks: Sinks) -> None:
        self.record = record
        self.directory = directory
        self.stage = stage
        """The working directory: the copy of the skill, and its input."""
        self.snapshot = snapshot
        self.sinks = sinks
        self.started = time.monotonic()
        self.finished = False


class ExecutionStore:
    """The executions of one layout, with this process as an owner."""

    def __init__(self, layout: ExecutionLayout, limits: ExecutionLimits, stages: Path | None = None) -> None:
        self.layout = layout
        self._stages_root = stages or layout.runtime / "stages"
        self.keys = Keys(layout)
        self._limits = limits
        self._snapshots = SnapshotCache(limits)
        self._clock = SystemClock()
        self._owner = Owner(layout)
        self.stages = self._stages_root / self._owner.name
        self.stages.mkdir(mode=0o700, parents=True)

    def begin(self, request: ExecutionRequest, stop: Stop) -> StartedExecution | str:
        """Record the start; return another execution's id if that one claimed the key first."""
        directory = request.skill.directory
        assert directory is not None, "it has a `skill.yaml`"
        shared = request.run.isolation == "shared"
        snapshot = (
            SkillSnapshot(items=(), digest="") if shared else self._snapshots.load(directory, now_ns=time.time_ns())
        )
        name = self.layout.claim(request.ids.execution_id)
        try:
            return self._begin(request, name, snapshot, stop)
        except BaseException:
            self.undo(name, request.key)
            raise

    def _begin(
        self, request: ExecutionRequest, name: str, snapshot: SkillSnapshot, stop: Stop
    ) -> StartedExecution | str:
        # Strings instead of paths: this runs for every execution.
        directory, stage, durable = f"{self.layout.root}/{name}", f"{self.stages}/{name}", request.durable
        record = Record(
            execution_id=name,
            skill=request.skill.name,
            skill_digest=snapshot.digest,
            input_digest=contract.digest(request.data),
            status="running",
            created_at=self._clock.now(),
            timeout_ms=request.timeout_ms,
            key_digest=request.key,
            owner=self._owner.name,
            run_id=request.ids.run_id,
            call_id=request.ids.call_id,
        )
        self._owner.note_start(name, durable=durable)
        write_new(f"{directory}/{INPUT}", request.data, durable=durable)
        write_first_record(directory, record, durable=durable)
        if durable:
            sync_path(directory)
            sync_path(self.layout.root)
            self.layout.sync_directories()
        if request.key is not None:
            other = self.keys.claim(request.key, request.request, name)
            if other is not None:
                self.undo(name, None)
                return other
        os.mkdir(stage, 0o700)  # noqa: PTH102
        os.mkdir(f"{stage}/{SKILL}", 0o700)  # noqa: PTH102
        snapshot.write_to(f"{stage}/{SKILL}")
        if request.run.artifacts:
            Path(stage, SKILL, ARTIFACTS).mkdir(mode=0o700, exist_ok=True)
        write_new(f"{stage}/{INPUT}", request.data)
        stdout = Sink(f"{directory}/{STDOUT}", self._limits.stdout_bytes, on_overflow=lambda: stop.set("stdout_limit"))
        sinks = Sinks(stdout, Sink(f"{directory}/{STDERR}", self._limits.stderr_bytes))
        return StartedExecution(record, Path(directory), Path(stage), snapshot, sinks)

    def undo(self, execution_id: str, key: str | None) -> None:
        """Remove an execution of which no process was started."""
        if key is not None:
            self.keys.release(key, execution_id)
        remove_tree(self.stages / execution_id, ignore_errors=True)
        self.layout.remove(execution_id)
        self._owner.note_end(execution_id)

    def finish(self, execution: StartedExecution, request: ExecutionRequest, outcome: JobOutcome) -> Execution:
        """Store the artifacts and record how the execution ended."""
        durable = request.durable
        if durable:
            execution.sinks.sync()
        execution.sinks.close()
        duration = round((time.monotonic() - execution.started) * 1000)
        # It exited before it could be stopped.
        if outcome.ended_by == "exit" and execution.sinks.stdout.overflowed:
            outcome = msgspec.structs.replace(outcome, ended_by="stdout_limit")
        output, failure, status = _outcome(outcome, bytes(execution.sinks.stdout.content), execution.record.timeout_ms)
        artifacts, refused = collect_artifacts(
            execution.stage / SKILL, request.run.artifacts, execution.directory, self._limits, durable=durable
        )
        if failure is None:
            write_new(f"{execution.directory}/{OUTPUT}", json.dumps(output, indent=2).encode() + b"\n", durable=durable)
        record = msgspec.structs.replace(
            execution.record,
            status=status,
            finished_at=self._clock.now(),
            duration_ms=duration,
            exit_code=outcome.exit_code,
            error=failure,
            warm=outcome.warm,
            artifacts=artifacts,
            refused=refused,
            stdout=execution.sinks.stdout.size(),
            stderr=execution.sinks.stderr.size(),
            isolation=outcome.isolation,
        )
        write_record(execution.directory, record, durable=durable)
        execution.finished = True
        self._owner.note_end(execution.record.execution_id)
        remove_tree(execution.stage, ignore_errors=True)
        return Execution(
            record=record,
            output=output,
            stdout=execution.sinks.stdout.content.decode(errors="replace"),
            stderr=execution.sinks.stderr.content.decode(errors="replace"),
        )

    def load(self, execution_id: str) -> Execution:
        """Load an execution from disk."""
        record = self.layout.read(execution_id)
        if record.status == "running" and not self.is_owner_alive(record):
            self.mark_interrupted(execution_id)  # the record of its start is lost
            record = self.layout.read(execution_id)
        directory = self.layout.directory(execution_id)
        output = _read(directory / OUTPUT)
        return Execution(
            record=record,
            output=json.loads(output) if output and record.status == "completed" else None,
            stdout=_read(directory / STDOUT).decode(errors="replace"),
            stderr=_read(directory / STDERR).decode(errors="replace"),
        )

    def find_by_key(self, key: str, request: str) -> str | None:
        """Return the execution of a key; if it was removed, release the key."""
        execution_id = self.keys.find(key, request)
        if execution_id is not None and not self.layout.directory(execution_id).is_dir():
            self.keys.release(key, execution_id)
            return None
        return execution_id

    def forget(self, record: Record) -> None:
        """Remove an execution and release its key."""
        removed = False
        with suppress(OSError, msgspec.MsgspecError):
            if record.key_digest is not None:
                self.keys.release(record.key_digest, record.execution_id)
            removed = self.layout.remove(record.execution_id)
        if not removed:
            hint = "look at who may write where executions are kept"
            raise StorageFailed(f"the execution `{record.execution_id}` cannot be removed", hint=hint)

    def is_owner_alive(self, record: Record) -> bool:
        """Return whether the process that started it is alive."""
        return record.owner == self._owner.name or is_alive(self.layout, record.owner)

    def mark_interrupted(self, execution_id: str) -> None:
        """Record that an execution ended with its process; an ended one stays unchanged."""
        directory = self.layout.directory(execution_id)
        try:
            record = read_record(directory)
        except (FileNotFoundError, msgspec.MsgspecError):  # killed before it started
            self.layout.remove(execution_id)
            return
        key = record.key_digest
        if record.status == "running" and key is not None and not self.keys.belongs_to(key, execution_id):
            self.layout.remove(execution_id)  # nothing starts without the key
        elif record.status == "running":
            changes = {"status": "failed", "error": INTERRUPTED, "finished_at": self._clock.now()}
            write_record(directory, msgspec.structs.replace(record, **changes), durable=True)

    def recover(self) -> int:
        """Recover the executions of dead processes and remove their files; return how many there were."""
        count = 0
        self.layout.empty_trash()
        for directory, executions in find_dead_owners(self.layout):
            for execution_id in executions:
                self.mark_interrupted(execution_id)
                count += 1
            remove_tree(directory, ignore_errors=True)
        for stage in self._stages_root.iterdir():
            if not is_alive(self.layout, stage.name):
                remove_tree(stage, ignore_errors=True)
        return count

    def close(self) -> None:
        """Remove the stages and release ownership; no execution may be running."""
        remove_tree(self.stages, ignore_errors=True)
        with suppress(OSError):  # other processes may work there
            self._stages_root.rmdir()
        self._owner.close()


def _outcome(outcome: JobOutcome, stdout: bytes, timeout_ms: int) -> tuple[Any, Failure | None, Status]:
    """Return the output or the failure, and the final status."""
    match outcome.ended_by:
        case "timeout":
            message = f"Execution timed out after {timeout_ms / 1000:.2f}s"
            return None, Failure(code="timeout", message=message), "timed_out"
        case "cancelled":
            return None, CANCELLED, "cancelled"
        case "stdout_limit":
            return None, Failure(code="stdout_limit", message="stdout exceeded limit"), "failed"
        case "resource_limit":
            message = f"Skill exceeded its limit of {outcome.exceeded or 'resources'}"
            return None, Failure(code="resource_limit", message=message), "failed"
        case "lost":
            return None, Failure(code="lost", message=outcome.note or LOST), "failed"
        case "exit":
            pass
    if outcome.exit_code != 0:
        return None, Failure(code="exit_code", message=f"Skill exited with code {outcome.exit_code or -1}"), "failed"
    output, failure = contract.parse_output(stdout)
    return output, failure, "completed" if failure is None else "failed"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
