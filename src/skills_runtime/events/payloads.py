"""The vocabulary: one small class per event type, tolerant of fields it does not know.

A field added later has a default; a field that changes meaning gets an upcaster (see `codec`).
In order: the life of a run, the calls of its tools, its model, what people say to it, and its skills.
"""

from typing import Any, ClassVar, Literal

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


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Tokens of one model request."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


class LlmRequestStarted(Payload, frozen=True):
    """A request left for the model."""

    event_type: ClassVar[str] = "llm_request_started"
    model: str
    messages_count: int = 0
    tools_count: int = 0
    purpose: str = "answer"
    wire_api: str = "chat.completions"


class LlmRetryScheduled(Payload, frozen=True):
    """A request failed in a way that may pass, and will be made again."""

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
    """The answer before this event is complete, its text and its calls: only now does it count."""

    event_type: ClassVar[str] = "llm_response_finished"
    finish_reason: str
    text_chars: int = 0
    calls: list[str] = []


class LlmUsage(Payload, frozen=True):
    """What the answer cost."""

    event_type: ClassVar[str] = "llm_usage"
    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | None = None
    """What it cost, where the price of the model is known."""
    provider: str | None = None
    request_id: str | None = None


class ContextLengthExceeded(Payload, frozen=True):
    """The conversation no longer fits the model."""

    event_type: ClassVar[str] = "context_length_exceeded"
    mode: str
    compactions: int = 0


class ContextRecoveryDecided(Payload, frozen=True):
    """What is done about a full context."""

    event_type: ClassVar[str] = "context_recovery_decided"
    mode: str
    decision: str
    fallback_mode: str | None = None


class CompactionStarted(Payload, frozen=True):
    """The model is asked to sum up the conversation."""

    event_type: ClassVar[str] = "compaction_started"
    reason: str
    mode: str = ""


class CompactionFailed(Payload, frozen=True):
    """The model gave no summary; an excerpt takes its place."""

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
    """Skills that were active, and whose texts had no room any more."""


class OutputRejected(Payload, frozen=True):
    """The last answer is not the data that was asked for, and the model is told why."""

    event_type: ClassVar[str] = "output_rejected"
    message: str


class BudgetIncreased(Payload, frozen=True):
    """Somebody gave the run more room."""

    event_type: ClassVar[str] = "budget_increased"
    reason: str
    extra_steps: int = 0
    extra_wall_time_sec: int = 0


class HumanRequest(Payload, frozen=True):
    """The run asks a person; `questions` has them all when there are several."""

    event_type: ClassVar[str] = "human_request"
    call_id: str
    question: str = ""
    choices: list[str] = []
    context: str = ""
    tool: str = ""
    questions: list[dict[str, Any]] = []


class HumanResponse(Payload, frozen=True):
    """A person answered; `answers` has every answer by the id of its question."""

    event_type: ClassVar[str] = "human_response"
    call_id: str
    answer: str = ""
    answers: dict[str, str] = {}


class InboxReceived(Payload, frozen=True):
    """A durable message reached the run; its id is taken exactly once."""

    event_type: ClassVar[str] = "inbox_received"
    message_id: str
    position: int
    kind: str
    body: dict[str, Any] = {}
    sent_at: str = ""


class HistoryLoaded(Payload, frozen=True):
    """What was said in the session before this run."""

    event_type: ClassVar[str] = "history_loaded"
    messages: list[dict[str, str]]
    runs: list[str] = []


class ImagesAttached(Payload, frozen=True):
    """Pictures that belong to the task: `media_type`, `name`, and the `blob` that holds each."""

    event_type: ClassVar[str] = "images_attached"
    images: list[dict[str, str]]


class EnvVarRequired(Payload, frozen=True):
    """A skill needs an environment variable that nobody has set."""

    event_type: ClassVar[str] = "env_var_required"
    env_var: str
    skill_name: str = ""
    skill_path: str = ""
    source: str = "skill_dependency"
    policy: str = ""


class EnvVarSet(Payload, frozen=True):
    """Somebody has given the variable; its value is never recorded."""

    event_type: ClassVar[str] = "env_var_set"
    env_var: str
    skill_name: str = ""
    skill_path: str = ""
    value_source: str = "human"


class RoutedSkill(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One skill that a task calls for, and the rule that says so."""

    mention: str
    rule: str
    score: float = 0.0
    reason: str = ""


class SkillRouted(Payload, frozen=True):
    """It was decided which skills a task calls for, the best first; with `model` the model has the last word."""

    event_type: ClassVar[str] = "skill_routed"
    query: str = msgspec.field(name="asked")
    decided_by: str = "model"
    considered: int = 0
    choices: list[RoutedSkill] = []


class SkillCatalogOffered(Payload, frozen=True):
    """The model was told of skills, or of what became of them; what it was not told in full is counted."""

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
    """Mentions of skills that came while the run was at work."""
    changed: list[str] = []
    """Mentions of those that say something else since then."""
    removed: list[str] = []
    """Mentions of those that are gone since then."""
    text: str = ""
    """What the model was told of such a change; the list at the beginning is part of the system text."""
    skills_blob: str | None = None
    """Holds what the model knows of all skills by now: the digest of what each says of itself, by mention."""


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
    """How long the text is."""
    digest: str = ""
    """Of what the skill says, so that a changed one is known."""
    arguments: str = ""
    permits: list[dict[str, Any]] = []
    """Rules for what it lists in `allowed-tools`."""
    preapproves: bool = False
    """These rules hold as long as it is active."""
    confines: bool = False
    """Nothing but what it lists may run meanwhile."""


class SkillUnloaded(Payload, frozen=True):
    """A skill is not active any more: what it permits ends, and its text goes with the next summary."""

    event_type: ClassVar[str] = "skill_unloaded"
    mention_text: str
    reason: str = ""


class SkillInjectionSkipped(Payload, frozen=True):
    """A skill was asked for and left out."""

    event_type: ClassVar[str] = "skill_injection_skipped"
    skill_name: str
    skill_path: str = ""
    reason: str = ""
    missing_env_vars: list[str] = []
    policy: str = ""
