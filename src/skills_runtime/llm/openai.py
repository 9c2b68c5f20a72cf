"""OpenAI-compatible chat streaming through the `openai` package, which is imported only when a request is made."""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from skills_runtime.errors import ModelError
from skills_runtime.ports import ChatRequest, ChatStreamEvent, ToolCall

if TYPE_CHECKING:
    from openai import APIError, AsyncOpenAI, AsyncStream
    from openai.types.chat import ChatCompletionChunk
    from openai.types.chat.chat_completion_chunk import ChoiceDeltaToolCall


class OpenAIChatBackend:
    """One provider at one address; the key is read by the caller and kept in memory only."""

    def __init__(self, *, base_url: str, api_key: str, timeout_sec: float = 60) -> None:
        self._base_url = base_url
        self._api_key = api_key
        self._timeout_sec = timeout_sec
        self._clients: dict[asyncio.AbstractEventLoop, AsyncOpenAI] = {}

    async def stream_chat(self, request: ChatRequest) -> AsyncGenerator[ChatStreamEvent]:
        """Stream one answer; a stream that ends before its finish reason is an error, not an answer."""
        import openai

        answer = _Answer()
        try:
            create: Any = self._client().chat.completions.create
            stream: AsyncStream[ChatCompletionChunk] = await create(**_parameters(request))
            async with stream:
                async for chunk in stream:
                    for event in answer.take(chunk):
                        yield event
        except openai.APIError as error:
            raise _explained(error) from error
        except json.JSONDecodeError as error:
            raise ModelError(f"the model sent a chunk that is not JSON: {error}", retryable=True) from error
        for event in answer.end():
            yield event

    async def aclose(self) -> None:
        """Close the connections of this event loop; the backend can still be used."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    def _client(self) -> "AsyncOpenAI":
        from openai import AsyncOpenAI

        # Connections belong to the event loop they were opened in, and every `Agent.run` has one of its own.
        for loop in [loop for loop in self._clients if loop.is_closed()]:
            del self._clients[loop]
        here = asyncio.get_running_loop()
        if here not in self._clients:
            self._clients[here] = AsyncOpenAI(
                base_url=self._base_url,
                api_key=self._api_key,
                timeout=self._timeout_sec,
                max_retries=0,  # `RetryingBackend` does that, and says so
            )
        return self._clients[here]


class _Answer:
    """Assembles the pieces of one streamed answer."""

    def __init__(self) -> None:
        self._calls: dict[int | str, dict[str, str]] = {}
        self._finish_reason: str | None = None
        self._usage: dict[str, int] | None = None
        self._request_id: str | None = None

    def take(self, chunk: "ChatCompletionChunk") -> Iterator[ChatStreamEvent]:
        """The events a chunk amounts to; services leave out fields the package promises."""
        self._request_id = chunk.id or self._request_id
        if chunk.usage is not None:
            self._usage = _usage(chunk.usage.model_dump())
        choices: list[Any] = chunk.choices or []
        for choice in choices[:1]:
            self._finish_reason = choice.finish_reason or self._finish_reason
            if choice.delta is None:
                continue
            if choice.delta.content:
                yield ChatStreamEvent(type="text_delta", text=choice.delta.content)
            pieces: list[ChoiceDeltaToolCall] = choice.delta.tool_calls or []
            for piece in pieces:
                self._add(piece)

    def end(self) -> Iterator[ChatStreamEvent]:
        """The calls and the end of the answer, if it has come."""
        if self._finish_reason is None:
            raise ModelError("the model's answer broke off before its end", retryable=True)
        if self._calls:
            yield ChatStreamEvent(type="tool_calls", tool_calls=self._tool_calls())
        yield ChatStreamEvent(
            type="completed",
            finish_reason=self._finish_reason,
            usage=self._usage,
            request_id=self._request_id,
            provider="openai",
        )

    def _add(self, piece: "ChoiceDeltaToolCall") -> None:
        call = self._calls.setdefault(self._key(piece.index, piece.id), {"id": "", "name": "", "arguments": ""})
        call["id"] = piece.id or call["id"]
        if piece.function is not None:
            call["name"] += piece.function.name or ""
            call["arguments"] += piece.function.arguments or ""

    def _key(self, index: int | None, call_id: str | None) -> int | str:
        """Which call a piece belongs to; without index and id, the one before."""
        if index is not None:
            return index
        return call_id or next(reversed(self._calls), 0)

    def _tool_calls(self) -> list[ToolCall]:
        return [
            ToolCall(id=call["id"] or f"call_{number}", name=call["name"], arguments=call["arguments"] or "{}")
            for number, call in enumerate(self._calls.values())
        ]


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
    if error.code == "context_length_exceeded" or (status == 400 and "context length" in error.message.lower()):
        return ModelError(
            f"the conversation is too long for the model: {error.message}", kind="context_length_exceeded"
        )
    if status in (401, 403):
        return ModelError("the model's provider refused the key", kind="auth_error", hint="check `llm.api_key_env`")
    if status == 429:
        return ModelError(
            "the model's provider limits the rate of requests",
            kind="rate_limited",
            retryable=True,
            retry_after_sec=_retry_after(error),
        )
    if isinstance(status, int) and status >= 500:
        message = f"the model's provider failed with {status}"
        return ModelError(message, kind="server_error", retryable=True, retry_after_sec=_retry_after(error))
    if isinstance(status, int):
        return ModelError(f"the model's provider answered {status}: {error.message}", kind="http_error")
    return ModelError(f"the model could not be reached: {error.message}", retryable=True)


def _retry_after(error: "APIError") -> float | None:
    """What the provider asks for: seconds, or a date; nonsense counts as nothing."""
    from email.utils import parsedate_to_datetime

    headers: Mapping[str, str] = getattr(getattr(error, "response", None), "headers", {})
    text = headers.get("retry-after", "")
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        wait = parsedate_to_datetime(text) - parsedate_to_datetime(headers.get("date", ""))
    except (TypeError, ValueError):
        return None
    return max(0.0, wait.total_seconds())
