"""The model port: requests and streamed answers."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a tool, as the model wrote it: `arguments` is its raw JSON text."""

    id: str
    name: str
    arguments: str


class ChatRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a backend needs to answer one turn."""

    model: str
    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]] = ()
    temperature: float | None = None
    max_tokens: int | None = None
    top_p: float | None = None
    response_format: Mapping[str, Any] | None = None
    run_id: str = ""
    turn_id: str = ""
    answered: int = 0
    """The number of complete answers this run has had before."""
    purpose: Literal["answer", "compaction"] = "answer"
    extra: Mapping[str, Any] = {}


class ToolCallDelta(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a call that is still being streamed."""

    index: int
    """The index of the call in the answer, from 0."""
    id: str = ""
    name: str = ""
    arguments: str = ""
    """The added characters."""


class ChatStreamEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of a streamed answer.

    `retry_scheduled`, `text_delta`, `reasoning_delta`, `tool_call_delta`, `tool_calls`, or `completed` at the end.
    """

    type: str
    text: str | None = None
    tool_calls: Sequence[ToolCall] | None = None
    call_delta: ToolCallDelta | None = None
    finish_reason: str | None = None
    usage: Mapping[str, int] | None = None
    request_id: str | None = None
    provider: str | None = None
    retry: Mapping[str, Any] | None = None


class Backend(Protocol):
    """A model that streams answers."""

    def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        """Stream one answer; it is complete only after `completed`."""
        ...
