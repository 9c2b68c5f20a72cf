"""OpenAI-compatible chat streaming through the `openai` package, which is imported only when a request is made."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import msgspec

from skills_runtime.errors import ModelError
from skills_runtime.llm.chunks import Assembly
from skills_runtime.llm.failures import Refusal, explained, no_stream, refusal_of, rejected_option
from skills_runtime.llm.text import one_line
from skills_runtime.ports import ChatRequest, ChatStreamEvent

if TYPE_CHECKING:
    from openai import APIError

    from skills_runtime.llm.client import ServiceClient
    from skills_runtime.llm.event_stream import EventStream


class OpenAIChatBackend:
    """One provider at one address; the key is read by the caller and kept in memory only."""

    def __init__(self, *, base_url: str, api_key: str, timeout_sec: float = 60) -> None:
        self._base_url = base_url
        self._api_key = api_key
        self._timeout_sec = timeout_sec
        self._unknown: dict[str, set[str]] = {}
        """The options that were refused, by model."""
        self._clients: dict[asyncio.AbstractEventLoop, ServiceClient] = {}

    async def stream_chat(self, request: ChatRequest) -> AsyncGenerator[ChatStreamEvent]:
        """Stream one answer; a stream that ends before its finish reason is an error, not an answer."""
        answer = Assembly(prefix=f"call_{request.answered + 1}")
        async with aclosing(self._chunks(parameters_of(request))) as chunks:
            async for chunk in chunks:
                for event in answer.take(chunk):
                    yield event
        for event in answer.end():
            yield event

    async def aclose(self) -> None:
        """Close the connections of this event loop; the backend can still be used."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    async def _chunks(self, parameters: dict[str, Any]) -> AsyncGenerator[object]:
        """The chunks as plain data; whatever goes wrong on the way is a `ModelError`."""
        import httpx2
        import openai

        try:
            async with await self._open(parameters) as stream:
                async for chunk in stream:
                    yield chunk
                if stream.besides:
                    raise no_stream(stream.besides, secret=self._api_key)
        except openai.APITimeoutError as error:
            raise ModelError(f"the model said nothing for {self._timeout_sec:g} s", retryable=True) from error
        except openai.APIConnectionError as error:
            raise self._no_connection(error.__cause__ or error) from error
        except openai.APIError as error:
            raise explained(self._refusal(error)) from error
        except (httpx2.HTTPError, OSError) as error:  # the package lets them pass while it reads why it was refused
            raise self._no_connection(error) from error
        except UnicodeEncodeError as error:
            raise ModelError("the request holds text that is not Unicode") from error
        except (ValueError, RecursionError) as error:
            raise ModelError(
                f"the model sent a chunk that is not JSON: {one_line(str(error))}", retryable=True
            ) from error

    async def _open(self, parameters: dict[str, Any]) -> "EventStream":
        """Send the request; what the service does not know is left out, and not asked of the same model again."""
        import openai

        model, rejected = str(parameters["model"]), set[str]()
        wanted = {**parameters, "stream_options": {"include_usage": True}}
        while True:
            left_out = rejected | self._unknown.get(model, set())
            asked = {name: value for name, value in wanted.items() if name not in left_out}
            try:
                stream = await self._send(asked)
            except openai.APIStatusError as error:
                option = rejected_option(self._refusal(error))
                if option not in asked:
                    raise
                rejected.add(option)
            else:
                self._unknown.setdefault(model, set()).update(rejected)
                return stream

    async def _send(self, parameters: dict[str, Any]) -> "EventStream":
        from skills_runtime.llm.event_stream import EventStream

        return await self._client().post(
            "/chat/completions",
            cast_to=object,
            content=msgspec.json.encode(parameters),
            # The key and the conversation go where the user said, and nowhere else.
            options={"follow_redirects": False, "security": {"bearer_auth": True}},
            stream=True,
            stream_cls=EventStream,
        )

    def _no_connection(self, error: BaseException) -> ModelError:
        reason = one_line(str(error), secret=self._api_key) or type(error).__name__
        return ModelError(f"the connection to the model failed: {reason}", retryable=True)

    def _refusal(self, error: "APIError") -> Refusal:
        response = getattr(error, "response", None)
        return refusal_of(
            error.body,
            status=getattr(error, "status_code", None),
            headers=response.headers if response is not None else None,
            secret=self._api_key,
        )

    def _client(self) -> "ServiceClient":
        from skills_runtime.llm.client import ServiceClient

        # Connections belong to the event loop they were opened in, and every `Agent.run` has one of its own.
        for loop in [loop for loop in self._clients if loop.is_closed()]:
            del self._clients[loop]
        here = asyncio.get_running_loop()
        if here not in self._clients:
            self._clients[here] = ServiceClient(
                base_url=self._base_url, api_key=self._api_key, timeout_sec=self._timeout_sec
            )
        return self._clients[here]


def parameters_of(request: ChatRequest) -> dict[str, Any]:
    """The body of a request."""
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
