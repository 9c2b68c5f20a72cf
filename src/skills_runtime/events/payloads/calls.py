"""Calls of tools, and what they touch."""

from typing import Any, ClassVar

from skills_runtime.events.envelope import Payload


class ToolCallRequested(Payload, frozen=True):
    """The model proposed a call; arguments are sanitized, `arguments_blob` holds the exact bytes when they differ."""

    event_type: ClassVar[str] = "tool_call_requested"
    call_id: str
    tool: str
    name: str
    arguments: dict[str, Any] = {}
    arguments_blob: str | None = None
    arguments_valid: bool = True
    raw_arguments_len: int | None = None
    raw_arguments_sha256: str | None = None
    raw_arguments_error: str | None = None


class ApprovalRequested(Payload, frozen=True):
    """A call waits for a decision; `details_blob` holds what whoever decides is shown, to the letter."""

    event_type: ClassVar[str] = "approval_requested"
    approval_key: str
    tool: str
    call_id: str = ""
    summary: str = ""
    request: dict[str, Any] = {}
    approval_id: str = ""
    """Names this one request; a decision has to name it too."""
    rule: str = ""
    """What asked."""
    risk: dict[str, str] = {}
    """`level`, `reason` and the `part` of the call that is the reason."""
    expires_at: str = ""
    details_blob: str | None = None


class ApprovalDecided(Payload, frozen=True):
    """An approver, or a rule in its place, decided."""

    event_type: ClassVar[str] = "approval_decided"
    approval_key: str
    decision: str
    reason: str = ""
    """Where the decision came from: `provider`, `inbox`, `session`, `timeout` or `invalid_decision`."""
    call_id: str = ""
    decided_by: str = ""
    approval_id: str = ""
    message_id: str = ""
    """The message that brought it."""
    note: str = ""
    """What they said about it; the model gets to read why a call was denied."""
    rule: dict[str, Any] = {}
    """The rule they added, and its `scope`."""
    arguments_blob: str | None = None
    """The arguments as they changed them."""


class ApprovalRefused(Payload, frozen=True):
    """A decision, or a request that was still open, does not count; `reason` says why in one word."""

    event_type: ClassVar[str] = "approval_refused"
    reason: str
    """`unknown`, `expired`, `changed`, `elsewhere` or `malformed`."""
    message: str = ""
    approval_id: str = ""
    approval_key: str = ""
    call_id: str = ""
    message_id: str = ""


class ToolCallStarted(Payload, frozen=True):
    """A call is about to have its effect; durable before the effect."""

    event_type: ClassVar[str] = "tool_call_started"
    call_id: str
    tool: str
    effect: str = "effectful"
    arguments_sha256: str = ""
    idempotency_key: str = ""


class ToolCallFinished(Payload, frozen=True):
    """A call is settled; `result` is the sanitized envelope, `result_blob` the exact one when they differ."""

    event_type: ClassVar[str] = "tool_call_finished"
    call_id: str
    tool: str
    result: dict[str, Any]
    result_blob: str | None = None
    size: int | None = None
    """How many bytes the exact one has."""


class FileOperation(Payload, frozen=True):
    """A tool touched a file, or was refused."""

    event_type: ClassVar[str] = "file_operation"
    op: str
    path: str
    ok: bool
    size: int | None = None
    sha256: str | None = None
    before_sha256: str | None = None
    error: str | None = None
    call_id: str | None = None
    real_path: str | None = None
    """Where the path really led, when that is not how it was written."""


class NetworkDecision(Payload, frozen=True):
    """A process of a call wanted to reach a host; told when that was decided, and again at the end of what was let."""

    event_type: ClassVar[str] = "network_decision"
    call_id: str
    number: int
    """Counts the requests of one command."""
    stage: str
    """`decided` or `ended`."""
    verdict: str
    """`allow` or `deny`."""
    host: str
    port: int
    protocol: str
    """`http`, `connect`, `socks5` or `unknown`."""
    by: str = ""
    """Who decided: a `rule`, a `person`, or `default` where no rule names the host."""
    reason: str = ""
    kind: str = ""
    """Why not, in one word."""
    rule: str = ""
    address: str = ""
    """Where the name led, and what was connected to."""
    bytes_up: int = 0
    bytes_down: int = 0
    session_id: int | None = None
    """The terminal session it belongs to, if it is not over with the call."""


class SkillExecutionStarted(Payload, frozen=True):
    """A call has a skill executed without a model; its files are in `executions/`."""

    event_type: ClassVar[str] = "skill_execution_started"
    call_id: str
    execution_id: str
    skill: str


class SkillExecutionFinished(Payload, frozen=True):
    """An execution of a call has ended, or the call that is made again found it ended."""

    event_type: ClassVar[str] = "skill_execution_finished"
    call_id: str
    execution_id: str
    skill: str
    status: str
    """`completed`, `failed`, `timed_out` or `cancelled`."""
    exit_code: int | None = None
    duration_ms: int = 0
    error: str = ""
    """What went wrong, in one word."""
    skill_digest: str = ""
    input_digest: str = ""
    stdout_bytes: int = 0
    stderr_bytes: int = 0
    artifacts: list[dict[str, Any]] = []
    """Path, size and digest of each file it left, below its directory."""


class PlanUpdated(Payload, frozen=True):
    """The model changed its plan."""

    event_type: ClassVar[str] = "plan_updated"
    call_id: str
    plan: list[dict[str, Any]]
    explanation: str = ""
