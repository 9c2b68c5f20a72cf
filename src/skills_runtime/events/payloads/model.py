"""The model: requests, answers, and the room they have."""

from typing import Any, ClassVar

import msgspec

from skills_runtime.events.envelope import Payload


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
