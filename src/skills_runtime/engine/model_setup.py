"""Attach a model: find its key, list the models of a service, test one with a real call, and save the choice.

Nothing is written before `save_model`, and that writes everything or nothing.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

import msgspec

from skills_runtime.clock import SystemClock
from skills_runtime.config import (
    KEY_VARIABLE,
    PROVIDERS,
    Environment,
    Provider,
    Resolved,
    check_llm_values,
    choose_model,
    delete_key,
    find_keys,
    find_provider,
    is_key_required,
    read_stored_keys,
    store_key,
)
from skills_runtime.errors import ConfigError, ModelError, SkillsRuntimeError, ValidationFailed
from skills_runtime.llm import OpenAIChatBackend, check_key
from skills_runtime.ports import ChatRequest, ChatStreamEvent

TEST_SECONDS = 30
MAX_LISTED = 200
_TEST_TOOL: dict[str, Any] = {
    "name": "report_ready",
    "description": "Report that you are ready.",
    "parameters": {"type": "object", "properties": {}},
}
_TEST_PROMPT = "Call the tool `report_ready`. If you have no tools, answer with the word ready."


class ModelKey(NamedTuple):
    """A key, and where a run will find it."""

    variable: str
    value: str
    origin: Literal["environment", "stored", "given", "none"]
    """`given` is to be stored."""


class ModelSetup(msgspec.Struct, frozen=True, kw_only=True):
    """A model as it will be configured."""

    provider: Provider
    base_url: str
    key: ModelKey
    model: str = ""

    def with_model(self, model: str) -> "ModelSetup":
        """Return the setup for a model."""
        if not model.strip() or not model.isprintable():
            raise ValidationFailed("this is not a valid model name", hint="name it with `--model`")
        return msgspec.structs.replace(self, model=model.strip())


class ModelProbe(msgspec.Struct, frozen=True, kw_only=True):
    """What a test call has shown."""

    base_url: str
    """The address that works; `/v1` may have been added."""
    seconds: float
    calls_tools: bool


def prepare_setup(
    provider: Provider,
    *,
    base_url: str | None,
    key_variable: str | None,
    key: str | None,
    environment: Environment,
    home: Path,
) -> ModelSetup:
    """Check address and key; `key` is one that the user typed, to be stored in `home`."""
    url = (base_url or provider.base_url).strip().rstrip("/")
    if not url:
        raise ConfigError(
            f"{provider.title} needs an address", hint=f"name it with `--base-url`, such as {provider.url_example}"
        )
    check_llm_values({"base_url": url, "api_key_env": key_variable or provider.key_env})
    model_key = _find_key(provider, url, key_variable, key, environment, home)
    check_key(model_key.value, model_key.variable, needs_key=is_key_required(provider.id, url))
    return ModelSetup(provider=provider, base_url=url, key=model_key)


def _find_key(
    provider: Provider, url: str, variable: str | None, key: str | None, environment: Environment, home: Path
) -> ModelKey:
    if key is not None:
        # A variable of the environment wins over a stored key of its name, and would be sent instead.
        name = provider.key_env if environment.origin(provider.key_env) in (None, "stored") else KEY_VARIABLE
        return ModelKey(name, key.strip(), "given")
    name = variable or provider.key_env
    if environment.origin(name) in ("process", "dotenv"):
        return ModelKey(name, (environment.get(name) or "").strip(), "environment")
    stored = find_keys(home, url)
    for candidate in (name, *(() if variable else (KEY_VARIABLE,))):
        if candidate in stored:
            return ModelKey(candidate, stored[candidate], "stored")
    return ModelKey(name, "", "none")


@asynccontextmanager
async def _backend(setup: ModelSetup, base_url: str, timeout_sec: float) -> AsyncGenerator[OpenAIChatBackend]:
    backend = OpenAIChatBackend(base_url=base_url, api_key=setup.key.value, timeout_sec=timeout_sec)
    try:
        yield backend
    finally:
        await backend.aclose()


def configured_setup(resolved: Resolved) -> ModelSetup:
    """Return the configured model."""
    llm = resolved.settings.llm
    origin = resolved.environment.origin(llm.api_key_env)
    key = ModelKey(
        llm.api_key_env,
        (resolved.environment.get(llm.api_key_env) or "").strip(),
        "none" if origin is None else "stored" if origin == "stored" else "environment",
    )
    provider = provider_of(resolved) or PROVIDERS["other"]
    return ModelSetup(provider=provider, base_url=llm.base_url, key=key, model=resolved.settings.models.planner)


async def list_models(setup: ModelSetup, *, timeout_sec: float = TEST_SECONDS) -> list[str]:
    """Return the models that the service lists; none if it lists none or does not answer."""
    for base_url in _candidates(setup.base_url):
        try:
            async with _backend(setup, base_url, timeout_sec) as backend:
                models = await backend.list_models()
        except ModelError:
            continue
        if models:
            return models[:MAX_LISTED]
    return []


async def probe_model(setup: ModelSetup, *, timeout_sec: float = TEST_SECONDS) -> ModelProbe:
    """Call the model once; raise `ModelError` with what to correct if it does not answer."""
    failed_at, failure = setup.base_url, None
    for base_url in _candidates(setup.base_url):
        try:
            return await _call(setup, base_url, timeout_sec)
        except ModelError as error:
            failed_at, failure = base_url, error
            if error.kind not in ("http_error", "llm_error") or setup.model in error.message:
                break
    assert failure is not None, "there is at least one address"
    raise await _explain(msgspec.structs.replace(setup, base_url=failed_at), failure, timeout_sec)


def _candidates(base_url: str) -> list[str]:
    """Return the addresses to try: one without a path may lack its `/v1`."""
    return [base_url] if urlsplit(base_url).path.strip("/") else [base_url, f"{base_url}/v1"]


async def _call(setup: ModelSetup, base_url: str, timeout_sec: float) -> ModelProbe:
    clock = SystemClock()
    async with _backend(setup, base_url, timeout_sec) as backend:
        began = clock.monotonic()
        try:
            events = [event async for event in backend.stream_chat(_request(setup.model, with_tool=True))]
        except ModelError as error:
            if error.kind != "http_error" or "tool" not in error.message.lower():
                raise
            events = [event async for event in backend.stream_chat(_request(setup.model, with_tool=False))]
        seconds = clock.monotonic() - began
    calls_tools = any(event.type == "tool_calls" and event.tool_calls for event in events)
    if not calls_tools and not any(_has_text(event) for event in events):
        raise ModelError("the model's answer is empty")
    return ModelProbe(base_url=base_url, seconds=round(seconds, 2), calls_tools=calls_tools)


def _has_text(event: ChatStreamEvent) -> bool:
    return event.type in ("text_delta", "reasoning_delta") and bool(event.text)


def _request(model: str, *, with_tool: bool) -> ChatRequest:
    return ChatRequest(
        model=model,
        messages=[{"role": "user", "content": _TEST_PROMPT}],
        tools=[_TEST_TOOL] if with_tool else [],
    )


async def _explain(setup: ModelSetup, error: ModelError, timeout_sec: float) -> ModelError:
    """Return the error of a test call with the model, the address and what to correct."""
    hint = "check the address and the key"
    if error.kind == "auth_error" and not setup.key.value:
        hint = f"set `{setup.key.variable}`, or store a key: `--key-stdin`"
    elif error.kind == "auth_error":
        page = f"; keys are at {setup.provider.key_page}" if setup.provider.key_page else ""
        hint = f"check the key in `{setup.key.variable}`{page}"
    elif error.kind == "http_error":
        models = await list_models(setup, timeout_sec=timeout_sec)
        if models and setup.model not in models:
            hint = f"choose a model that the service lists: {', '.join(models[:8])}{', …' if len(models) > 8 else ''}"
    return ModelError(
        f"`{setup.model}` at `{setup.base_url}` does not work: {error.message}",
        kind=error.kind,
        hint=hint,
    )


def save_model(setup: ModelSetup, home: Path) -> Path:
    """Make this the user's model; the key is stored only together with it."""
    variable = setup.key.variable
    previous = read_stored_keys(home).get(variable)
    if setup.key.origin == "given":
        store_key(home, variable, setup.key.value, address=setup.base_url)
    try:
        return choose_model(
            home,
            provider=setup.provider.id,
            base_url=setup.base_url,
            model=setup.model,
            api_key_env=variable,
        )
    except SkillsRuntimeError:
        if setup.key.origin == "given":
            delete_key(home, variable)
            if previous is not None:
                store_key(home, variable, previous.key, address=previous.origin or setup.base_url)
        raise


def find_overridden(setup: ModelSetup, resolved: Resolved) -> dict[str, str]:
    """Return the saved values that another source overrides in this workspace, with that source."""
    settings = resolved.settings
    effective: Mapping[str, tuple[str, str]] = {
        "llm.base_url": (settings.llm.base_url, setup.base_url),
        "models.planner": (settings.models.planner, setup.model),
        "models.executor": (settings.models.executor, setup.model),
    }
    return {key: resolved.sources[key] for key, (value, chosen) in effective.items() if value != chosen}


def provider_of(resolved: Resolved) -> Provider | None:
    """Return the preset of the configured provider."""
    llm = resolved.settings.llm
    return PROVIDERS.get(llm.provider or "") or find_provider(llm.base_url)
