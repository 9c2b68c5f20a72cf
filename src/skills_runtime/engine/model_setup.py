"""Attach a model: find its key, list the models of a service, test one with a real call, and save the choice.

Nothing is written before `save_model`, and that writes everything or nothing.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

import msgspec

from skills_runtime.agent import configured_endpoint
from skills_runtime.config import (
    KEY_VARIABLE,
    Environment,
    Provider,
    Resolved,
    check_llm_values,
    choose_model,
    delete_key,
    find_keys,
    is_key_required,
    read_stored_keys,
    store_key,
)
from skills_runtime.engine.agent_factory import find_model_problem
from skills_runtime.errors import ConfigError, ModelError, SkillsRuntimeError, ValidationFailed
from skills_runtime.llm import Endpoint, ModelProbe, check_key, probe_endpoint, probe_model

TEST_SECONDS = 30
MAX_LISTED = 200


class ModelKey(NamedTuple):
    """A key, and where a run will find it."""

    variable: str
    value: str
    origin: Literal["environment", "stored", "given", "none"]
    """`given` is to be stored."""


class ModelTest(NamedTuple):
    """The result of a call to the configured model, and the models that its service lists."""

    problem: str
    probe: ModelProbe | None
    models: tuple[str, ...]


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


async def list_models(setup: ModelSetup) -> list[str]:
    """Return the models that the service lists; none if it lists none or does not answer."""
    for base_url in _candidates(setup.base_url):
        probe = await probe_endpoint(base_url, setup.key.value, timeout_sec=TEST_SECONDS)
        if probe.models:
            return list(probe.models[:MAX_LISTED])
    return []


async def complete_setup(setup: ModelSetup) -> tuple[ModelSetup, ModelProbe]:
    """Call the model once, and return the setup with the address that works: `/v1` may be missing.

    Raises `ModelError` with what to correct if the model does not answer.
    """
    failure: ModelError | None = None
    for base_url in _candidates(setup.base_url):
        endpoint = Endpoint(url=base_url, key_variable=setup.key.variable)
        try:
            probe = await probe_model(endpoint, setup.key.value, setup.model, timeout_sec=TEST_SECONDS)
        except ModelError as error:
            failure = error
            if error.kind not in ("http_error", "llm_error"):
                break
        else:
            return msgspec.structs.replace(setup, base_url=base_url), probe
    assert failure is not None, "there is at least one address"
    raise failure


async def check_configured_model(resolved: Resolved) -> ModelTest:
    """Call the configured model once, at the configured address only."""
    problem = find_model_problem(resolved)
    if problem or resolved.settings.llm.backend != "openai":
        return ModelTest(problem, None, ())
    endpoint, key = configured_endpoint(resolved)
    models = (await probe_endpoint(endpoint.url, key, timeout_sec=TEST_SECONDS)).models[:MAX_LISTED]
    try:
        probe = await probe_model(endpoint, key, resolved.settings.models.planner, timeout_sec=TEST_SECONDS)
    except ModelError as error:
        return ModelTest(f"{error.message}; {error.hint}" if error.hint else error.message, None, models)
    return ModelTest("", probe, models)


def _candidates(base_url: str) -> list[str]:
    """Return the addresses to try: one without a path may lack its `/v1`."""
    return [base_url] if urlsplit(base_url).path.strip("/") else [base_url, f"{base_url}/v1"]


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
