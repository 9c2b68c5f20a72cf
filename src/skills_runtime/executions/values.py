"""Values of executions: limits, records, failures and artifacts."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

Status = Literal["running", "completed", "failed", "timed_out", "cancelled"]
"""`running` changes exactly once, to one of the others."""

Code = Literal[
    "timeout", "cancelled", "exit_code", "invalid_output", "empty_output", "stdout_limit", "resource_limit",
    "sandbox_denied", "not_started", "interrupted", "lost",
]  # fmt: skip
"""Why an execution did not complete, for programs."""

SCHEMA = "skills_runtime.execution/v1"
MEBIBYTE = 1 << 20


class ExecutionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of one execution; the sandbox limits memory, processes and disk."""

    timeout_ms: int = 10_000
    """Used when neither the caller nor the skill sets a timeout."""
    max_timeout_ms: int = 600_000
    """The longest timeout that a caller or a skill may set."""
    input_bytes: int = 16 * MEBIBYTE
    stdout_bytes: int = 1_000_000
    """A skill that writes more is ended."""
    stderr_bytes: int = 1_000_000
    """Output beyond this is dropped."""
    artifact_files: int = 1000
    artifact_bytes: int = 256 * MEBIBYTE
    """For all artifacts of one execution together."""
    skill_files: int = 10_000
    skill_bytes: int = 64 * MEBIBYTE
    """For the copy of a skill."""


class PoolLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of concurrency."""

    concurrent: int = 0
    """Running executions; 0 means twice the number of processors."""
    waiting: int = 1000
    """Executions that wait for a slot; further ones are refused."""
    warm: int = 16
    """Warm processes over all skills; 0 starts a new process for each execution."""
    idle_seconds: float = 30.0
    """An idle warm process ends after this time."""


class Artifact(msgspec.Struct, frozen=True, kw_only=True):
    """A file that an execution produced."""

    path: str
    """Relative to the directory of the execution, as the skill declares it."""
    size: int
    sha256: str


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """A declared artifact that was not stored, and why."""

    path: str
    reason: str


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why an execution did not complete."""

    code: Code
    message: str


class StreamSize(msgspec.Struct, frozen=True, kw_only=True):
    """How much was written to a stream, and how much was stored."""

    total: int = 0
    stored: int = msgspec.field(default=0, name="kept")


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """`execution.json`: everything about an execution except its streams and output."""

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
    """The guarantees that the sandbox reported."""
    key_digest: str | None = None
    owner: str = ""
    """The owner that runs it; used to check whether it is alive."""
    run_id: str | None = None
    call_id: str | None = None


class Execution(msgspec.Struct, frozen=True, kw_only=True):
    """An execution with its output and streams."""

    record: Record
    output: Any = None
    stdout: str = ""
    stderr: str = ""

    @property
    def id(self) -> str:
        """Return the id."""
        return self.record.execution_id

    @property
    def status(self) -> Status:
        """Return the status."""
        return self.record.status

    @property
    def exit_code(self) -> int | None:
        """Return the exit code; negative: the signal that ended it."""
        return self.record.exit_code

    @property
    def duration_ms(self) -> int:
        """Return the duration in milliseconds."""
        return self.record.duration_ms

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """Return the files it produced."""
        return self.record.artifacts

    @property
    def error(self) -> Failure | None:
        """Return why it did not complete."""
        return self.record.error
