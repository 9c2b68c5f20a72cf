"""From plain values to a model that can be asked; knows nothing of configuration files."""

import re
from pathlib import Path

from skills_runtime.errors import ConfigError
from skills_runtime.llm.fake import ScriptedBackend, load_script
from skills_runtime.llm.openai import OpenAIChatBackend
from skills_runtime.llm.retry import RetryingBackend, RetryPolicy

_KEY = re.compile("[!-~]+")
"""What can be sent as a key: printable ASCII without spaces."""


def openai_backend(
    *,
    base_url: str,
    api_key: str,
    timeout_sec: float,
    retry: RetryPolicy,
    api_key_env: str = "OPENAI_API_KEY",
) -> RetryingBackend:
    """An OpenAI-compatible service that is asked again when a failure may pass; `api_key_env` is named in errors."""
    api_key = api_key.strip()
    if not api_key:
        raise ConfigError(
            f"the environment variable `{api_key_env}` is not set",
            hint="set it, or work offline with `llm.backend: fake`",
        )
    if not _KEY.fullmatch(api_key):
        raise ConfigError(
            f"the environment variable `{api_key_env}` does not hold a key", hint="a key has no spaces or umlauts"
        )
    return RetryingBackend(OpenAIChatBackend(base_url=base_url, api_key=api_key, timeout_sec=timeout_sec), retry)


def fake_backend(script: Path | None) -> ScriptedBackend:
    """The model of a script file."""
    if script is None:
        raise ConfigError("`llm.backend: fake` needs a script", hint="set `llm.fake.script` to a YAML file")
    return load_script(script)
