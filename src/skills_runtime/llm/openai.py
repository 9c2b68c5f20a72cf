"""OpenAI-compatible chat streaming through the `openai` package, which is imported only when a request is made."""

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from skills_runtime.errors import ModelError
from skills_runtime.ports import ChatRequest, ChatStreamEvent, ToolCall

if TYPE_CHECKING:
    from openai import APIError, AsyncOpenAI
    from openai.types.chat import ChatCompletionChunk


class OpenAIChatBackend:
    """One provider at one address; the key is read by the caller and kept in memory only."""

    def __init__(self, *, base_url: str, api_key: str, timeout_sec: float = 60, max_retries: int = 3) -> None:
        self._base_url = base_url
        self._api_key = api_key
        self._timeout_sec = timeout_sec
        self._max_retries = max_retries
        self._client: AsyncOpenAI | None = None

    async def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        """Stream one answer; a stream that ends before its finish reason is an error, not an answer."""
        import openai

        try:
            create: Any = self._open().chat.completions.create
            stream: AsyncIterator[ChatCompletionChunk] = await create(**_parameters(request))
            answer = _Answer()
            async for chunk in stream:
                for event in answer.take(chunk):
                    yield event
        except openai.APIError as error:
            raise _explained(error) from error
        yield answer.completed()

    def _open(self) -> "AsyncOpenAI":
        from openai import AsyncOpenAI

        if self._client is None:
            self._client = AsyncOpenAI(
                base_url=self._base_url,
                api_key=self._api_key,
                timeout=self._timeout_sec,
                max_retries=self._max_retries,
            )
        return self._client


class _Answer:
    """Assembles the pieces of one streamed answer."""

    def __init__(self) -> None:
        self._calls: dict[int, dict[str, str]] = {}
        self._finish_reason: str | None = None
        self._usage: dict[str, int] | None = None
        self._request_id: str | None = None

    def take(self, chunk: "ChatCompletionChunk") -> list[ChatStreamEvent]:
        """The events a chunk amounts to."""
        self._request_id = chunk.id or self._request_id
        if chunk.usage is not None:
            self._usage = _usage(chunk.usage.model_dump())
        events: list[ChatStreamEvent] = []
        for choice in chunk.choices[:1]:
            if choice.delta.content:
                events.append(ChatStreamEvent(type="text_delta", text=choice.delta.content))
            for piece in choice.delta.tool_calls or []:
                call = self._calls.setdefault(piece.index, {"id": "", "name": "", "arguments": ""})
                call["id"] = piece.id or call["id"]
                if piece.function is not None:
                    call["name"] += piece.function.name or ""
                    call["arguments"] += piece.function.arguments or ""
            if choice.finish_reason is not None:
                self._finish_reason = choice.finish_reason
                events.extend(self._tool_calls())
        return events

    def completed(self) -> ChatStreamEvent:
        """The end of the answer, if it has come."""
        if self._finish_reason is None:
            raise ModelError("the model's answer broke off before its end", retryable=True)
        return ChatStreamEvent(
            type="completed",
            finish_reason=self._finish_reason,
            usage=self._usage,
            request_id=self._request_id,
            provider="openai",
        )

    def _tool_calls(self) -> list[ChatStreamEvent]:
        if not self._calls:
            return []
        calls = [
            ToolCall(id=call["id"] or f"call_{index}", name=call["name"], arguments=call["arguments"] or "{}")
            for index, call in sorted(self._calls.items())
        ]
        return [ChatStreamEvent(type="tool_calls", tool_calls=calls)]


def _parameters(request: ChatRequest) -> dict[str, Any]:
    chosen: dict[str, Any] = {
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
        "top_p": request.top_p,
        "response_format": request.response_format,
        "tools": [{"type": "function", "function": dict(tool)} for tool in request.tools] or None,
    }
    return {
        "model": request.model,
        "messages": list(request.messages),
        "stream": True,
        "stream_options": {"include_usage": True},
        **{name: value for name, value in chosen.items() if value is not None},
    }


def _usage(usage: Mapping[str, Any]) -> dict[str, int]:
    details: dict[str, Any] = usage.get("prompt_tokens_details") or {}
    return {
        "input_tokens": usage.get("prompt_tokens") or 0,
        "output_tokens": usage.get("completion_tokens") or 0,
        "total_tokens": usage.get("total_tokens") or 0,
        "cached_tokens": details.get("cached_tokens") or 0,
    }


def _explained(error: "APIError") -> ModelError:
    status = getattr(error, "status_code", None)
    if error.code == "context_length_exceeded":
        return ModelError(
            f"the conversation is too long for the model: {error.message}", kind="context_length_exceeded"
        )
    if status in (401, 403):
        return ModelError("the model's provider refused the key", kind="auth_error", hint="check `llm.api_key_env`")
    if status == 429:
        return ModelError("the model's provider limits the rate of requests", kind="rate_limited", retryable=True)
    if isinstance(status, int) and status >= 500:
        return ModelError(f"the model's provider failed with {status}", kind="server_error", retryable=True)
    if isinstance(status, int):
        return ModelError(f"the model's provider answered {status}: {error.message}", kind="http_error")
    return ModelError(f"the model could not be reached: {error.message}", retryable=True)
