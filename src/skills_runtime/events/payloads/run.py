"""The life of a run: how it begins, changes and ends."""

from typing import Any, ClassVar

import msgspec

from skills_runtime.events.envelope import Payload

LOG_SCHEMA = "skills-runtime.log/v1"


LOG_VERSION = 1


class Descriptor(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Names some bytes without holding them."""

    name: str
    sha256: str
    size: int
    role: str = ""


class ForkPoint(msgspec.Struct, frozen=True, kw_only=True):
    """The place after one event of another run, and the digest of everything up to it."""

    run_id: str
    root: str
    seq: int
    offset: int
    prefix_sha256: str


class RunCreated(Payload, frozen=True):
    """The first event: who the run is, and the digests of what it starts from."""

    event_type: ClassVar[str] = "run_created"
    schema: str
    key_id: str
    session_id: str
    task_id: str
    profile_id: str
    config_fingerprint: str
    kind: str = "agent"
    attempt: int = 1
    parent_run_id: str | None = None
    required_deliverables: list[str] = []
    snapshots: list[Descriptor] = []
    fork: ForkPoint | None = None


class SandboxCreated(Payload, frozen=True):
    """The directories and the path policy exist."""

    event_type: ClassVar[str] = "sandbox_created"
    workspace_mode: str
    manifest: Descriptor


class RunStateChanged(Payload, frozen=True):
    """The run moved between two states that are not terminal."""

    event_type: ClassVar[str] = "run_state_changed"
    before: str = msgspec.field(name="from")
    after: str = msgspec.field(name="to")
    reason: str = ""


class RunStarted(Payload, frozen=True):
    """An agent began to work on the task, for the first time or again."""

    event_type: ClassVar[str] = "run_started"
    task: str
    workspace_root: str = ""
    config_summary: dict[str, Any] = {}
    resume: dict[str, Any] = {}


class RunAdopted(Payload, frozen=True):
    """A run whose key is elsewhere continues under this machine's key."""

    event_type: ClassVar[str] = "run_adopted"
    previous_key_id: str
    key_id: str
    prefix_sha256: str


class LogRepaired(Payload, frozen=True):
    """Bytes after the last verified line were set aside when the log was opened."""

    event_type: ClassVar[str] = "log_repaired"
    reason: str
    offset: int
    removed: Descriptor


class ArtifactManifestWritten(Payload, frozen=True):
    """The list of what the run produced and consumed is on disk."""

    event_type: ClassVar[str] = "artifact_manifest_written"
    manifest: Descriptor
    artifacts: int
    complete: bool = True


class RunWaitingHuman(Payload, frozen=True):
    """The run parked until a person acts; its process may exit."""

    event_type: ClassVar[str] = "run_waiting_human"
    message: str
    tool: str = ""
    call_id: str = ""
    error_kind: str = "human_required"
    wal_locator: str = ""


class RunCompleted(Payload, frozen=True):
    """Terminal: the task is done."""

    event_type: ClassVar[str] = "run_completed"
    final_output: str
    artifacts: list[str] = []
    wal_locator: str = ""
    metadata: dict[str, Any] = {}


class RunFailed(Payload, frozen=True):
    """Terminal: the task will not be done by this run."""

    event_type: ClassVar[str] = "run_failed"
    error_kind: str
    message: str
    retryable: bool = False
    retry_after_ms: int | None = None
    details: dict[str, Any] = {}
    wal_locator: str = ""


class RunCancelled(Payload, frozen=True):
    """Terminal: somebody stopped the run."""

    event_type: ClassVar[str] = "run_cancelled"
    message: str
    wal_locator: str = ""


TERMINAL_TYPES = frozenset({"run_completed", "run_failed", "run_cancelled"})
"""Nothing ever follows one of these."""


class ChildRunStarted(Payload, frozen=True):
    """A call began a run of its own."""

    event_type: ClassVar[str] = "child_run_started"
    call_id: str
    child_run_id: str
    root: str
    message: str = ""
    profile_id: str = ""


class ChildRunFinished(Payload, frozen=True):
    """A run that this one began has ended, or waits."""

    event_type: ClassVar[str] = "child_run_finished"
    child_run_id: str
    status: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    tool_calls: int = 0
