"""Test a model's provider: whether it answers, which models it lists, and whether a model answers a request.

Bounded in time and size; only `probe_model` may cost a few tokens.
"""

import asyncio
from contextlib import aclosing
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

import msgspec

from skills_runtime.clock import SystemClock
from skills_runtime.config import find_provider
from skills_runtime.errors import ConfigError, ModelError
from skills_runtime.llm.failures import Endpoint, find_os_reason, shorten
from skills_runtime.llm.openai import OpenAIChatBackend
from skills_runtime.ports import ChatRequest

MAX_LIST_BYTES = 4 << 20
LIST_SECONDS = 5.0
_TEST_TOOL: dict[str, Any] = {
    "name": "report_ready",
    "description": "Report that you are ready.",
    "parameters": {"type": "object", "properties": {}},
}
_TEST_PROMPT = "Call the tool `report_ready`. If you have no tools, answer with the word ready."


class EndpointProbe(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of a provider."""

    status: int | None = None
    """The HTTP status; `None` if there was no answer."""
    problem: str = ""
    """Why there was no answer."""
    models: tuple[str, ...] = ()
    """The names of its models; empty if it does not list them."""

    def has_model(self, name: str) -> bool:
        """Return whether a model is listed; some providers prefix names, or add a default tag."""
        return any(listed in (name.removeprefix("models/"), f"{name}:latest") for listed in self.models)


class ModelProbe(msgspec.Struct, frozen=True, kw_only=True):
    """What a request to a model has shown."""

    seconds: float
    calls_tools: bool | None
    """`None` if the answer was still coming when the time was over."""


async def probe_endpoint(base_url: str, api_key: str, *, timeout_sec: float) -> EndpointProbe:
    """Request `/models` once, without following redirects: the key goes only to the configured address."""
    import httpx2  # slow to import, like `openai`

    from skills_runtime.llm.openai_client import build_http_client

    headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {api_key}"} if api_key else {})
    try:
        async with (
            asyncio.timeout(timeout_sec),
            build_http_client() as client,
            client.stream("GET", _models_url(base_url), headers=headers, follow_redirects=False) as response,
        ):
            body = bytearray()
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > MAX_LIST_BYTES:
                    break
            models = parse_model_names(bytes(body)) if response.status_code == 200 else ()
            return EndpointProbe(status=response.status_code, models=models)
    except TimeoutError:
        return EndpointProbe(problem=f"no answer within {timeout_sec:g} s")
    except ConfigError as error:
        return EndpointProbe(problem=error.message)
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, UnicodeError) as error:
        reason = find_os_reason(error) or shorten(str(error), secret=api_key) or type(error).__name__
        return EndpointProbe(problem=reason)


def _models_url(base_url: str) -> str:
    parts = urlsplit(base_url)
    return urlunsplit((parts.scheme, parts.netloc, f"{parts.path.rstrip('/')}/models", parts.query, ""))


def parse_model_names(body: bytes) -> tuple[str, ...]:
    """Return the model names in a list of models, sorted; nothing if the body is something else."""
    try:
        data: Any = msgspec.json.decode(body)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return ()
    entries: Any = cast("dict[str, Any]", data).get("data") if isinstance(data, dict) else data
    if not isinstance(entries, list):
        return ()
    names = [cast("dict[str, Any]", entry).get("id") for entry in cast("list[Any]", entries) if isinstance(entry, dict)]
    return tuple(sorted({name.removeprefix("models/") for name in names if isinstance(name, str)} - {""}))


async def probe_model(endpoint: Endpoint, api_key: str, model: str, *, timeout_sec: float) -> ModelProbe:
    """Ask a model to call a tool; raise `ModelError` with what to correct if it does not begin to answer."""
    backend = OpenAIChatBackend(
        base_url=endpoint.url, api_key=api_key, timeout_sec=timeout_sec + 1, endpoint=endpoint
    )  # the total time ends first, and says so
    clock = SystemClock()
    began = clock.monotonic()
    try:
        calls_tools = await _request_tool_call(backend, model, timeout_sec)
    except ModelError as error:
        raise await _explain(error, endpoint, api_key, model) from error
    finally:
        await backend.aclose()
    return ModelProbe(seconds=round(clock.monotonic() - began, 2), calls_tools=calls_tools)


async def _request_tool_call(backend: OpenAIChatBackend, model: str, timeout_sec: float) -> bool | None:
    """Return whether the model calls a tool; without one if the provider rejects tools."""
    has_begun = False
    try:
        async with asyncio.timeout(timeout_sec):
            for tools in ([_TEST_TOOL], []):
                request = ChatRequest(model=model, messages=[{"role": "user", "content": _TEST_PROMPT}], tools=tools)
                try:
                    async with aclosing(backend.stream_chat(request)) as events:
                        async for event in events:
                            has_begun = has_begun or event.type != "completed"
                            if event.type == "tool_calls":
                                return True
                except ModelError as error:
                    if not tools or error.kind != "http_error" or "tool" not in error.message.lower():
                        raise
                else:
                    break
    except TimeoutError:
        if has_begun:
            return None
        raise ModelError(f"it did not begin to answer within {timeout_sec:g} s", retryable=True) from None
    if not has_begun:
        raise ModelError("its answer is empty")
    return False


async def _explain(error: ModelError, endpoint: Endpoint, api_key: str, model: str) -> ModelError:
    """Return the error of a request with the model and what to correct."""
    reason, hint = error.message, error.hint or "check the address and the key"
    if error.kind == "auth_error" and api_key:
        provider = find_provider(endpoint.url)
        page = f"; keys are at {provider.key_page}" if provider else ""
        hint = f"check the key in `{endpoint.key_variable}`{page}"
    elif error.kind == "auth_error":
        reason = f"{endpoint} requires a key, and `{endpoint.key_variable}` is not set"
        hint = f"set `{endpoint.key_variable}`, or store a key with `skills-runtime init --key-stdin`"
    elif error.kind == "http_error":
        listed = await probe_endpoint(endpoint.url, api_key, timeout_sec=LIST_SECONDS)
        if listed.models and not listed.has_model(model):
            names = f"{', '.join(listed.models[:8])}{', …' if len(listed.models) > 8 else ''}"
            hint = f"choose a model that the service lists: {names}"
    return ModelError(f"`{model}` does not work: {reason}", kind=error.kind, hint=hint, retryable=error.retryable)
