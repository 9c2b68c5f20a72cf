"""Test a model's provider: whether it answers, which models it lists, and whether a model begins to answer.

Bounded in time and size; only `try_model` may cost a few tokens.
"""

import asyncio
from contextlib import aclosing
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

import msgspec

from skills_runtime.errors import ConfigError, ModelError
from skills_runtime.llm.failures import find_os_reason, shorten
from skills_runtime.llm.openai import OpenAIChatBackend
from skills_runtime.ports import ChatRequest

MAX_LIST_BYTES = 4 << 20


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
        return any(listed in (name, f"models/{name}", f"{name}:latest") for listed in self.models)


def probe_endpoint(base_url: str, api_key: str, *, timeout_sec: float) -> EndpointProbe:
    """Request `/models` once, without following redirects: the key goes only to the configured address."""
    return asyncio.run(_probe(base_url, api_key, timeout_sec))


async def _probe(base_url: str, api_key: str, timeout_sec: float) -> EndpointProbe:
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
    """Return the model names in a list of models; nothing if the body is something else."""
    try:
        data: Any = msgspec.json.decode(body)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return ()
    entries: Any = cast("dict[str, Any]", data).get("data") if isinstance(data, dict) else data
    if not isinstance(entries, list):
        return ()
    names = [cast("dict[str, Any]", entry).get("id") for entry in cast("list[Any]", entries) if isinstance(entry, dict)]
    return tuple(name for name in names if isinstance(name, str))


def try_model(backend: OpenAIChatBackend, model: str, *, timeout_sec: float) -> ModelError | None:
    """Ask a model for one word and hang up when it begins to answer; return the error if it does not."""
    return asyncio.run(_try(backend, model, timeout_sec))


async def _try(backend: OpenAIChatBackend, model: str, timeout_sec: float) -> ModelError | None:
    request = ChatRequest(model=model, messages=[{"role": "user", "content": "Reply with the word OK."}])
    try:
        async with asyncio.timeout(timeout_sec), aclosing(backend.stream_chat(request)) as stream:
            async for _ in stream:
                break
    except TimeoutError:
        return ModelError(f"`{model}` did not begin to answer within {timeout_sec:g} s", retryable=True)
    except ModelError as error:
        return error
    finally:
        await backend.aclose()
    return None
