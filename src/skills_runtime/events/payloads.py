"""The event payloads: one class per event type, tolerant of unknown fields.

A field added later has a default; a field that changes meaning gets an upcaster (see `codec`).
In order: the life cycle of a run, its tool calls, its model, interaction with users, and its skills.
"""

from typing import Any, ClassVar, Literal

import msgspec

from skills_runtime.events.envelope import Payload

LOG_SCHEMA = "skills-runtime.log/v1"
LOG_VERSION = 1


class Descriptor(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Identifies some bytes without holding them."""

    name: str
    sha256: str
    size: int
    role: str = ""


class ForkPoint(msgspec.Struct, frozen=True, kw_only=True):
    """The position after one event of another run, and the digest of everything up to it."""

    run_id: str
    root: str
    seq: int
    offset: int
    prefix_sha256: str


class RunCreated(Payload, frozen=True):
    """The first event: the identity of the run, and the digests of its inputs."""

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
    """The run moved between two states that are not final."""

    event_type: ClassVar[str] = "run_state_changed"
    before: str = msgspec.field(name="from")
    after: str = msgspec.field(name="to")
    reason: str = ""


class RunStarted(Payload, frozen=True):
    """An agent started to execute the task, for the first time or again."""

    event_type: ClassVar[str] = "run_started"
    task: str
    workspace_root: str = ""
    config_summary: dict[str, Any] = {}
    resume: dict[str, Any] = {}


class RunAdopted(Payload, frozen=True):
    """A run whose key is elsewhere continues with this machine's key."""

    event_type: ClassVar[str] = "run_adopted"
    previous_key_id: str
    key_id: str
    prefix_sha256: str


class LogRepaired(Payload, frozen=True):
    """Bytes after the last verified line were moved away when the log was opened."""

    event_type: ClassVar[str] = "log_repaired"
    reason: str
    offset: int
    removed: Descriptor


class ArtifactManifestWritten(Payload, frozen=True):
    """The list of inputs and outputs of the run is on disk."""

    event_type: ClassVar[str] = "artifact_manifest_written"
    manifest: Descriptor
    artifacts: int
    complete: bool = True


class RunWaitingHuman(Payload, frozen=True):
    """The run parked until a user acts; its process may exit."""

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
    """Terminal: the run was cancelled."""

    event_type: ClassVar[str] = "run_cancelled"
    message: str
    wal_locator: str = ""


TERMINAL_TYPES = frozenset({"run_completed", "run_failed", "run_cancelled"})
"""Nothing ever follows one of these."""


class ChildRunStarted(Payload, frozen=True):
    """A call started a child run."""

    event_type: ClassVar[str] = "child_run_started"
    call_id: str
    child_run_id: str
    root: str
    message: str = ""
    profile_id: str = ""


class ChildRunFinished(Payload, frozen=True):
    """A child run has ended or waits."""

    event_type: ClassVar[str] = "child_run_finished"
    child_run_id: str
    status: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    tool_calls: int = 0


class ToolCallRequested(Payload, frozen=True):
    """The model proposed a call; arguments are sanitized, `arguments_blob` holds the exact bytes if they differ."""

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
    """A call waits for a decision; `details_blob` holds exactly what the approver is shown."""

    event_type: ClassVar[str] = "approval_requested"
    approval_key: str
    tool: str
    call_id: str = ""
    summary: str = ""
    request: dict[str, Any] = {}
    approval_id: str = ""
    """Identifies this request; a decision has to name it."""
    rule: str = ""
    """The rule that asks."""
    risk: dict[str, str] = {}
    """`level`, `reason` and the `part` of the call that causes it."""
    expires_at: str = ""
    details_blob: str | None = None


class ApprovalDecided(Payload, frozen=True):
    """An approver, or a rule on their behalf, decided."""

    event_type: ClassVar[str] = "approval_decided"
    approval_key: str
    decision: str
    reason: str = ""
    """The origin of the decision: `provider`, `inbox` or `session`.

    Older logs also have `timeout` and `invalid_decision`, where a call without a decision was denied.
    """
    call_id: str = ""
    decided_by: str = ""
    approval_id: str = ""
    message_id: str = ""
    """The message with the decision."""
    note: str = ""
    """A comment of the approver; the model reads why a call was denied."""
    rule: dict[str, Any] = {}
    """The added rule and its `scope`."""
    arguments_blob: str | None = None
    """The arguments as changed by the approver."""


class ApprovalRefused(Payload, frozen=True):
    """A decision, or an open request, is void; `reason` says why in one word."""

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
    """A call is finished; `result` is the sanitized envelope, `result_blob` the exact one if they differ."""

    event_type: ClassVar[str] = "tool_call_finished"
    call_id: str
    tool: str
    result: dict[str, Any]
    result_blob: str | None = None
    size: int | None = None
    """The size of the exact one in bytes."""


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
    """The path with links resolved, if it differs."""


class NetworkDecision(Payload, frozen=True):
    """A process of a call tried to reach a host; recorded at the decision, and at the end of an allowed connection."""

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
    """Who decided: a `rule`, a `person`, or `default` if no rule names the host."""
    reason: str = ""
    kind: str = ""
    """Why it was denied, in one word."""
    rule: str = ""
    address: str = ""
    """The resolved address that was connected to."""
    bytes_up: int = 0
    bytes_down: int = 0
    session_id: int | None = None
    """The terminal session it belongs to, if that outlives the call."""


class SkillExecutionStarted(Payload, frozen=True):
    """A call executes a skill without a model; its files are in `executions/`."""

    event_type: ClassVar[str] = "skill_execution_started"
    call_id: str
    execution_id: str
    skill: str


class SkillExecutionFinished(Payload, frozen=True):
    """An execution of a call has ended, or had ended when the call was repeated."""

    event_type: ClassVar[str] = "skill_execution_finished"
    call_id: str
    execution_id: str
    skill: str
    status: str
    """`completed`, `failed`, `timed_out` or `cancelled`."""
    exit_code: int | None = None
    duration_ms: int = 0
    error: str = ""
    """The failure, in one word."""
    skill_digest: str = ""
    input_digest: str = ""
    stdout_bytes: int = 0
    stderr_bytes: int = 0
    artifacts: list[dict[str, Any]] = []
    """Path, size and digest of each output file, below its directory."""


class PlanUpdated(Payload, frozen=True):
    """The model changed its plan."""

    event_type: ClassVar[str] = "plan_updated"
    call_id: str
    plan: list[dict[str, Any]]
    explanation: str = ""


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Tokens of one model request."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


class LlmRequestStarted(Payload, frozen=True):
    """A request was sent to the model."""

    event_type: ClassVar[str] = "llm_request_started"
    model: str
    messages_count: int = 0
    tools_count: int = 0
    purpose: str = "answer"
    wire_api: str = "chat.completions"


class LlmRetryScheduled(Payload, frozen=True):
    """A request failed temporarily and will be repeated."""

    event_type: ClassVar[str] = "llm_retry_scheduled"
    error_kind: str
    attempt: int
    max_retries: int
    delay_ms: int
    message: str = ""
    provider: str = "openai"
    retry_after_ms: int | None = None


class LlmResponseDelta(Payload, frozen=True):
    """A piece of the model's answer, coalesced."""

    event_type: ClassVar[str] = "llm_response_delta"
    delta_type: str
    text: str = ""
    tool_calls: list[dict[str, Any]] = []


class LlmResponseFinished(Payload, frozen=True):
    """The preceding answer is complete, with its text and calls: only now is it part of the conversation."""

    event_type: ClassVar[str] = "llm_response_finished"
    finish_reason: str
    text_chars: int = 0
    calls: list[str] = []


class LlmUsage(Payload, frozen=True):
    """The usage of an answer."""

    event_type: ClassVar[str] = "llm_usage"
    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | None = None
    """Its cost, if the price of the model is known."""
    provider: str | None = None
    request_id: str | None = None


class ContextLengthExceeded(Payload, frozen=True):
    """The conversation no longer fits the context window."""

    event_type: ClassVar[str] = "context_length_exceeded"
    mode: str
    compactions: int = 0


class ContextRecoveryDecided(Payload, frozen=True):
    """The decision about a full context."""

    event_type: ClassVar[str] = "context_recovery_decided"
    mode: str
    decision: str
    fallback_mode: str | None = None


class CompactionStarted(Payload, frozen=True):
    """The model is asked to summarize the conversation."""

    event_type: ClassVar[str] = "compaction_started"
    reason: str
    mode: str = ""


class CompactionFailed(Payload, frozen=True):
    """The model gave no summary; an excerpt is used instead."""

    event_type: ClassVar[str] = "compaction_failed"
    reason: str
    error: str


class ContextCompacted(Payload, frozen=True):
    """The conversation before the last `kept_messages` was replaced by a summary."""

    event_type: ClassVar[str] = "context_compacted"
    summary: str
    kept_messages: int
    reason: str = ""
    count: int = 0
    artifact_path: str = ""
    skills_left_out: list[str] = []
    """Active skills whose texts no longer fit."""


class OutputRejected(Payload, frozen=True):
    """The last answer does not match the required output schema, and the model is told why."""

    event_type: ClassVar[str] = "output_rejected"
    message: str


class BudgetIncreased(Payload, frozen=True):
    """A user raised a limit of the run."""

    event_type: ClassVar[str] = "budget_increased"
    reason: str
    extra_steps: int = 0
    extra_wall_time_sec: int = 0


class HumanRequest(Payload, frozen=True):
    """The run asks a user; `questions` has all of them if there are several."""

    event_type: ClassVar[str] = "human_request"
    call_id: str
    question: str = ""
    choices: list[str] = []
    context: str = ""
    tool: str = ""
    questions: list[dict[str, Any]] = []


class HumanResponse(Payload, frozen=True):
    """A user answered; `answers` has every answer by question id."""

    event_type: ClassVar[str] = "human_response"
    call_id: str
    answer: str = ""
    answers: dict[str, str] = {}


class InboxReceived(Payload, frozen=True):
    """A durable message reached the run; each id is applied exactly once."""

    event_type: ClassVar[str] = "inbox_received"
    message_id: str
    position: int
    kind: str
    body: dict[str, Any] = {}
    sent_at: str = ""


class HistoryLoaded(Payload, frozen=True):
    """Messages of the session before this run."""

    event_type: ClassVar[str] = "history_loaded"
    messages: list[dict[str, str]]
    runs: list[str] = []


class ImagesAttached(Payload, frozen=True):
    """Images that belong to the task: `media_type`, `name`, and the `blob` that holds each."""

    event_type: ClassVar[str] = "images_attached"
    images: list[dict[str, str]]


class EnvVarRequired(Payload, frozen=True):
    """A skill needs an environment variable that is not set."""

    event_type: ClassVar[str] = "env_var_required"
    env_var: str
    skill_name: str = ""
    skill_path: str = ""
    source: str = "skill_dependency"
    policy: str = ""


class EnvVarSet(Payload, frozen=True):
    """The variable was provided; its value is never recorded."""

    event_type: ClassVar[str] = "env_var_set"
    env_var: str
    skill_name: str = ""
    skill_path: str = ""
    value_source: str = "human"


class RoutedSkill(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One skill that a task calls for, and the rule that selected it."""

    mention: str
    rule: str
    score: float = 0.0
    reason: str = ""


class SkillRouted(Payload, frozen=True):
    """The skills that a task calls for, best first; with `model` the model decides."""

    event_type: ClassVar[str] = "skill_routed"
    query: str = msgspec.field(name="asked")
    decided_by: str = "model"
    considered: int = 0
    choices: list[RoutedSkill] = []


class SkillCatalogOffered(Payload, frozen=True):
    """The model was shown the list of skills, or changes to it, with the number of skills left out."""

    event_type: ClassVar[str] = "skill_catalog_offered"
    level: Literal["full", "shortened", "names", "search"]
    offered: int
    shortened: int = 0
    omitted: int = 0
    hidden: int = 0
    tokens: int = 0
    budget_tokens: int = 0
    digest: str = ""
    reason: str = ""
    added: list[str] = []
    """Mentions of skills added during the run."""
    changed: list[str] = []
    """Mentions of skills changed during the run."""
    removed: list[str] = []
    """Mentions of skills removed during the run."""
    text: str = ""
    """The announcement of such a change; the list at the start is part of the system text."""
    skills_blob: str | None = None
    """What the model knows about all skills by now: the digest of each description, by mention."""


class SkillInjected(Payload, frozen=True):
    """A skill's text became part of the conversation; `text_blob` holds it exactly."""

    event_type: ClassVar[str] = "skill_injected"
    skill_name: str
    skill_path: str = ""
    namespace: str = ""
    skill_locator: str = ""
    source: str = "mention"
    mention_text: str = ""
    space_id: str | None = None
    source_id: str | None = None
    render: str = "body"
    text_blob: str | None = None
    size: int = 0
    """The length of the text."""
    digest: str = ""
    """Digest of the skill's content, to detect changes."""
    arguments: str = ""
    permits: list[dict[str, Any]] = []
    """Rules for the tools in its `allowed-tools`."""
    preapproves: bool = False
    """Whether these rules apply while it is active."""
    confines: bool = False
    """Whether only the listed tools may run while it is active."""


class SkillUnloaded(Payload, frozen=True):
    """A skill is no longer active: its permissions end, and its text is dropped with the next summary."""

    event_type: ClassVar[str] = "skill_unloaded"
    mention_text: str
    reason: str = ""


class SkillInjectionSkipped(Payload, frozen=True):
    """A requested skill was left out."""

    event_type: ClassVar[str] = "skill_injection_skipped"
    skill_name: str
    skill_path: str = ""
    reason: str = ""
    missing_env_vars: list[str] = []
    policy: str = ""
