"""OpenAI-compatible chat streaming: build requests and assemble the chunks of an answer.

The `openai` package is slow to import, so it is loaded with the first request.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Generator, Iterator, Mapping
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING, Any, cast

import msgspec

from skills_runtime.errors import ConfigError, ModelError
from skills_runtime.llm.failures import (
    ANY_ENDPOINT,
    DOCTOR_HINT,
    Endpoint,
    Refusal,
    connection_error,
    find_rejected_option,
    missing_stream_error,
    model_error,
    parse_refusal,
    shorten,
)
from skills_runtime.llm.retry import RetryingBackend, RetryPolicy
from skills_runtime.ports import ChatRequest, ChatStreamEvent, ToolCall, ToolCallDelta

if TYPE_CHECKING:
    from openai import APIError
    from openai._types import RequestOptions

    from skills_runtime.llm.openai_client import EventStream, ServiceClient


MAX_TOKEN_COUNT = 2**53
"""Larger counts are treated as invalid."""

MAX_ANSWER_CHARS = 32 << 20
"""Longer answers are treated as endless and aborted."""
ERROR_FINISH_REASONS = frozenset({"error", "network_error", "insufficient_system_resource", "abort"})
"""Finish reasons by which several providers report that they could not finish the answer."""

_KEY = re.compile("[!-~]+")
"""Characters allowed in a key: printable ASCII without spaces."""


class StreamAccumulator:
    """Assemble one streamed answer; `prefix` starts the ids of calls that come without one."""

    def __init__(self, *, prefix: str = "call", endpoint: Endpoint = ANY_ENDPOINT) -> None:
        self._prefix = prefix
        self._endpoint = endpoint
        self._is_empty = True
        self._calls: list[_Call] = []
        self._current: dict[int | str, int] = {}
        """Index in `_calls` by the provider's index or id of a call."""
        self._last: int | str = 0
        self._refusal_texts: list[str] = []
        self._finish_reason: str | None = None
        self._usage: dict[str, int] | None = None
        self._request_id: str | None = None
        self._chars = 0

    def add(self, chunk: object) -> Iterator[ChatStreamEvent]:
        """Yield the events for one chunk."""
        if not isinstance(chunk, dict):
            raise ModelError("the model sent a chunk that is not an object", retryable=True)
        piece = cast(dict[str, Any], chunk)
        if piece.get("object") == "error":
            raise model_error(parse_refusal(piece), self._endpoint)
        self._is_empty = False
        self._request_id = _text(piece.get("id")) or self._request_id
        choice = _mapping(next(iter(_list(piece.get("choices"))), None))
        usage = _mapping(piece.get("usage")) or _mapping(choice.get("usage"))
        self._usage = parse_usage(usage) if usage else self._usage
        self._finish_reason = _text(choice.get("finish_reason")) or self._finish_reason
        yield from self._delta(_mapping(choice.get("delta")))

    def finish(self) -> Iterator[ChatStreamEvent]:
        """Yield the complete calls and the end of the answer; raise `ModelError` if the answer did not end."""
        if self._is_empty:
            raise ModelError(f"{self._endpoint} sent an empty stream", hint=DOCTOR_HINT, retryable=True)
        if self._finish_reason is None:
            raise ModelError("the model's answer broke off before its end", retryable=True)
        if self._finish_reason.lower() in ERROR_FINISH_REASONS:
            raise ModelError(f"{self._endpoint} ended the answer with an error", retryable=True)
        if self._refusal_texts:
            raise ModelError(
                f"the model refused: {shorten(''.join(self._refusal_texts))}", hint="ask for something else"
            )
        if self._calls:
            yield ChatStreamEvent(type="tool_calls", tool_calls=[call.build() for call in self._calls])
        yield ChatStreamEvent(
            type="completed",
            finish_reason=self._finish_reason,
            usage=self._usage,
            request_id=self._request_id,
            provider="openai",
        )

    def _delta(self, delta: Mapping[str, Any]) -> Iterator[ChatStreamEvent]:
        reasoning = _text(delta.get("reasoning_content")) or _text(delta.get("reasoning"))
        if reasoning := reasoning or "".join(
            _content_text(_mapping(block).get("thinking")) for block in _list(delta.get("content"))
        ):
            self._count(reasoning)
            yield ChatStreamEvent(type="reasoning_delta", text=reasoning)
        if text := _content_text(delta.get("content")):
            self._count(text)
            yield ChatStreamEvent(type="text_delta", text=text)
        if refusal := _text(delta.get("refusal")):
            self._count(refusal)
            self._refusal_texts.append(refusal)
        for piece in map(_mapping, _list(delta.get("tool_calls"))):
            yield ChatStreamEvent(type="tool_call_delta", call_delta=self._add_call_piece(piece))

    def _add_call_piece(self, piece: Mapping[str, Any]) -> ToolCallDelta:
        function = _mapping(piece.get("function"))
        call_id, name = _text(piece.get("id")), _text(function.get("name"))
        index = self._find_call_index(piece.get("index"), call_id, name)
        call, arguments = self._calls[index], _arguments(function.get("arguments"))
        self._count(call_id, name, arguments)
        if call_id and not call.named_by_service:
            call.id, call.named_by_service = call_id, True
        added = name if name != call.name else ""  # some providers repeat the name with every piece
        call.name += added
        call.arguments.append(arguments)
        return ToolCallDelta(index=index, id=call.id, name=added, arguments=arguments)

    def _count(self, *pieces: str) -> None:
        self._chars += sum(map(len, pieces))
        if self._chars > MAX_ANSWER_CHARS:
            raise ModelError("the model's answer is too long")

    def _find_call_index(self, index: object, call_id: str, name: str) -> int:
        """Return the index of the call that a piece belongs to: by its index, else by its id, else the last one."""
        key = self._last = index if isinstance(index, int) else call_id or self._last
        at = self._current.get(key)
        if at is None or _starts_new_call(self._calls[at], call_id, name, indexed=key is index):
            at = self._current[key] = len(self._calls)
            self._calls.append(_Call(id=f"{self._prefix}_{at + 1}"))
        return at


class _Call(msgspec.Struct):
    """A call that is being streamed."""

    id: str
    named_by_service: bool = False
    name: str = ""
    arguments: list[str] = []

    def build(self) -> ToolCall:
        return ToolCall(id=self.id, name=self.name, arguments="".join(self.arguments) or "{}")


def _starts_new_call(call: _Call, call_id: str, name: str, *, indexed: bool) -> bool:
    """Return whether a piece starts another call: some providers give every call the same index, or none."""
    if not name or not call.name:
        return False
    return call.named_by_service and call_id != call.id if call_id else not indexed


def parse_usage(usage: Mapping[str, Any]) -> dict[str, int]:
    """Return the token counts of an answer under our names."""
    request, answer = _mapping(usage.get("prompt_tokens_details")), _mapping(usage.get("completion_tokens_details"))
    used_in, used_out = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    cached = (request.get("cached_tokens"), usage.get("cached_tokens"), usage.get("prompt_cache_hit_tokens"))
    return {
        "input_tokens": used_in,
        "output_tokens": used_out,
        "total_tokens": _count(usage.get("total_tokens")) or used_in + used_out,
        "cached_tokens": next((count for count in map(_count, cached) if count), 0),
        "reasoning_tokens": _count(answer.get("reasoning_tokens")),
    }


def _mapping(value: object) -> Mapping[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return cast(list[object], value) if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: object) -> int:
    return int(value) if isinstance(value, int | float) and 0 < value < MAX_TOKEN_COUNT else 0


def _content_text(content: object) -> str:
    """Return the text of a piece, which some providers send as a list of blocks."""
    return "".join(_text(_mapping(block).get("text")) for block in _list(content)) or _text(content)


def _arguments(value: object) -> str:
    """Return arguments as JSON text; some providers send them as an object."""
    return msgspec.json.encode(value).decode() if isinstance(value, dict) else _text(value)


class OpenAIChatBackend:
    """One provider at one URL; the caller reads the key, which stays in memory only."""

    def __init__(
        self, *, base_url: str, api_key: str, timeout_sec: float = 60, endpoint: Endpoint | None = None
    ) -> None:
        self._base_url = base_url
        self._endpoint = endpoint or Endpoint(url=base_url)
        self._api_key = api_key
        self._timeout_sec = timeout_sec
        self._rejected_options: dict[str, set[str]] = {}
        """Optional parameters that the provider rejected, by model."""
        self._clients: dict[asyncio.AbstractEventLoop, ServiceClient] = {}

    async def stream_chat(self, request: ChatRequest) -> AsyncGenerator[ChatStreamEvent]:
        """Stream one answer; raise `ModelError` if the stream ends without a finish reason."""
        answer = StreamAccumulator(prefix=f"call_{request.answered + 1}", endpoint=self._endpoint)
        async with aclosing(self._chunks(build_parameters(request))) as chunks:
            async for chunk in chunks:
                for event in answer.add(chunk):
                    yield event
        for event in answer.finish():
            yield event

    async def aclose(self) -> None:
        """Close the connections of this event loop; the backend can still be used."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    async def _chunks(self, parameters: dict[str, Any]) -> AsyncGenerator[object]:
        """Yield the chunks as plain data; every failure is raised as a `ModelError`."""
        with self._translated_errors():
            async with await self._open(parameters) as stream:
                async for chunk in stream:
                    yield chunk
                if stream.unexpected_text:
                    raise missing_stream_error(stream.unexpected_text, secret=self._api_key, endpoint=self._endpoint)

    @contextmanager
    def _translated_errors(self) -> Generator[None]:
        """Raise every failure of a request as a `ModelError`."""
        import httpx2  # slow to import, like `openai`; runs with other backends never need them
        import openai

        try:
            yield
        except openai.APITimeoutError as error:
            if isinstance(error.__cause__, httpx2.ConnectTimeout):
                raise self._connection_error(error.__cause__) from error
            raise ModelError(
                f"{self._endpoint} sent nothing for {self._timeout_sec:g} s", hint=DOCTOR_HINT, retryable=True
            ) from error
        except openai.APIConnectionError as error:
            raise self._connection_error(error.__cause__ or error) from error
        except openai.APIError as error:
            raise model_error(self._parse_refusal(error), self._endpoint) from error
        except (
            httpx2.HTTPError,
            OSError,
        ) as error:  # `openai` does not wrap errors that happen while it reads an error response
            raise self._connection_error(error) from error
        except UnicodeEncodeError as error:
            raise ModelError("the request contains text that is not valid Unicode") from error
        except (ValueError, RecursionError) as error:
            raise ModelError(
                f"the model sent a chunk that is not JSON: {shorten(str(error))}", retryable=True
            ) from error

    async def _open(self, parameters: dict[str, Any]) -> "EventStream":
        """Send the request without the optional parameters that this model's provider has rejected."""
        import openai  # slow to import

        model, rejected = str(parameters["model"]), set[str]()
        all_parameters = {**parameters, "stream_options": {"include_usage": True}}
        while True:
            left_out = rejected | self._rejected_options.get(model, set())
            sent_parameters = {name: value for name, value in all_parameters.items() if name not in left_out}
            try:
                stream = await self._send(sent_parameters)
            except openai.APIStatusError as error:
                option = find_rejected_option(self._parse_refusal(error))
                if option not in sent_parameters:
                    raise
                rejected.add(option)
            else:
                self._rejected_options.setdefault(model, set()).update(rejected)
                return stream

    async def _send(self, parameters: dict[str, Any]) -> "EventStream":
        from skills_runtime.llm.openai_client import EventStream  # loads `openai`

        return await self._client().post(
            "/chat/completions",
            cast_to=object,
            content=msgspec.json.encode(parameters),
            options=self._request_options(),
            stream=True,
            stream_cls=EventStream,
        )

    def _request_options(self) -> "RequestOptions":
        from openai import Omit

        # Never follow a redirect: the key and the conversation go only to the configured URL.
        options: RequestOptions = {"follow_redirects": False, "security": {"bearer_auth": True}}
        return options if self._api_key else {**options, "headers": {"Authorization": Omit()}}

    def _connection_error(self, error: BaseException) -> ModelError:
        return connection_error(error, self._endpoint, secret=self._api_key)

    def _parse_refusal(self, error: "APIError") -> Refusal:
        response = getattr(error, "response", None)
        return parse_refusal(
            error.body,
            status=getattr(error, "status_code", None),
            headers=response.headers if response is not None else None,
            secret=self._api_key,
        )

    def _client(self) -> "ServiceClient":
        from skills_runtime.llm.openai_client import ServiceClient  # loads `openai`

        # Connections belong to the event loop that opened them, and every `Agent.run` has its own loop.
        for loop in [loop for loop in self._clients if loop.is_closed()]:
            del self._clients[loop]
        running_loop = asyncio.get_running_loop()
        if running_loop not in self._clients:
            self._clients[running_loop] = ServiceClient(
                base_url=self._base_url, api_key=self._api_key, timeout_sec=self._timeout_sec
            )
        return self._clients[running_loop]


def build_parameters(request: ChatRequest) -> dict[str, Any]:
    """Return the JSON body of a request."""
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
        **{name: value for name, value in chosen.items() if value is not None},
    }


def openai_backend(
    endpoint: Endpoint, *, api_key: str, timeout_sec: float, retry: RetryPolicy, needs_key: bool = True
) -> RetryingBackend:
    """Return a backend for an OpenAI-compatible provider with retries; errors name the endpoint."""
    key = check_key(api_key, endpoint.key_variable, needs_key=needs_key)
    backend = OpenAIChatBackend(base_url=endpoint.url, api_key=key, timeout_sec=timeout_sec, endpoint=endpoint)
    return RetryingBackend(backend, retry)


def check_key(api_key: str, api_key_env: str, *, needs_key: bool = True) -> str:
    """Return the key without blanks around it; raise `ConfigError` if it is missing or cannot be sent."""
    api_key = api_key.strip()
    if not api_key and needs_key:
        raise ConfigError(
            f"the model has no key: the environment variable `{api_key_env}` is not set",
            hint=(
                "store a key with `skills-runtime init` (in scripts: `--key-stdin`), or set it with"
                f" `export {api_key_env}=…` or in `.env`; `skills-runtime demo` works without one"
            ),
        )
    if api_key and not _KEY.fullmatch(api_key):
        raise ConfigError(
            f"the environment variable `{api_key_env}` does not contain a valid key",
            hint="a key contains printable ASCII characters and no spaces; `skills-runtime init` stores another one",
        )
    return api_key
