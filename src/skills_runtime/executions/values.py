"""An execution as values: what it is allowed, how it ended, and what it left behind."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

Status = Literal["running", "completed", "failed", "timed_out", "cancelled"]
"""`running` is left exactly once, for one of the others."""

Code = Literal[
    "timeout", "cancelled", "exit_code", "invalid_output", "empty_output", "stdout_limit", "resource_limit",
    "sandbox_denied", "not_started", "interrupted", "lost",
]  # fmt: skip
"""Why an execution did not complete, for programs."""

SCHEMA = "skills_runtime.execution/v1"
MEBIBYTE = 1 << 20


class ExecutionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What one execution may use; memory, processes and room on the disk are limited by the fence."""

    timeout_ms: int = 10_000
    """Where neither the caller nor the skill says how long it may take."""
    max_timeout_ms: int = 600_000
    """The longest time that a caller or a skill may ask for."""
    input_bytes: int = 16 * MEBIBYTE
    stdout_bytes: int = 1_000_000
    """A skill that writes more is ended."""
    stderr_bytes: int = 1_000_000
    """What is longer is cut."""
    artifact_files: int = 1000
    artifact_bytes: int = 256 * MEBIBYTE
    """Of all files together that are kept of one execution."""
    skill_files: int = 10_000
    skill_bytes: int = 64 * MEBIBYTE
    """Of a skill that is copied for an execution."""


class PoolLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much happens at the same time."""

    concurrent: int = 0
    """Executions under way; 0 means twice the number of processors."""
    waiting: int = 1000
    """Executions that wait for their turn; one more is refused."""
    warm: int = 16
    """Processes that are kept ready for the next execution, over all skills; 0 starts each anew."""
    idle_seconds: float = 30.0
    """After which a process that nobody needs ends."""


class Artifact(msgspec.Struct, frozen=True, kw_only=True):
    """A file that an execution left behind."""

    path: str
    """Below the directory of the execution, as the skill declares it."""
    size: int
    sha256: str


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """Something declared that was not kept, and why."""

    path: str
    reason: str


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why an execution did not complete."""

    code: Code
    message: str


class StreamSize(msgspec.Struct, frozen=True, kw_only=True):
    """How much was written to a stream, and how much of it was kept."""

    total: int = 0
    stored: int = msgspec.field(default=0, name="kept")


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """`execution.json`: everything that is known of an execution but its streams and its output."""

    schema: str = SCHEMA
    execution_id: str
    skill: str
    skill_digest: str
    input_digest: str
    status: Status
    created_at: str
    finished_at: str | None = None
    duration_ms: int = 0
    exit_code: int | None = None
    """Negative: the signal that ended it."""
    error: Failure | None = None
    timeout_ms: int
    warm: bool = False
    artifacts: tuple[Artifact, ...] = ()
    refused: tuple[Refused, ...] = ()
    stdout: StreamSize = StreamSize()
    stderr: StreamSize = StreamSize()
    isolation: Mapping[str, Any] = {}
    """What the fence says it kept."""
    key_digest: str | None = None
    owner: str = ""
    """Who runs it, to tell whether anybody still does."""
    run_id: str | None = None
    call_id: str | None = None


class Execution(msgspec.Struct, frozen=True, kw_only=True):
    """An execution with its output and its streams."""

    record: Record
    output: Any = None
    stdout: str = ""
    stderr: str = ""

    @property
    def id(self) -> str:
        """Its name."""
        return self.record.execution_id

    @property
    def status(self) -> Status:
        """How it ended, if it did."""
        return self.record.status

    @property
    def exit_code(self) -> int | None:
        """What the skill returned; negative: the signal that ended it."""
        return self.record.exit_code

    @property
    def duration_ms(self) -> int:
        """How long it took."""
        return self.record.duration_ms

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """The files it left behind."""
        return self.record.artifacts

    @property
    def error(self) -> Failure | None:
        """Why it did not complete."""
        return self.record.error
