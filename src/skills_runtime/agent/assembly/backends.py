"""The model that the settings name."""

from pathlib import Path
from typing import TYPE_CHECKING

from skills_runtime.agent.assembly.recorded import recording_of, replaying
from skills_runtime.errors import ConfigError
from skills_runtime.llm import RetryPolicy, fake_backend, openai_backend
from skills_runtime.ports import Backend

if TYPE_CHECKING:
    from skills_runtime.config import Resolved


def backend_for(resolved: "Resolved") -> Backend:
    """The model that `llm.backend` names."""
    llm = resolved.settings.llm
    if llm.backend == "fake":
        return fake_backend(Path(llm.fake.script) if llm.fake.script else None)
    if llm.backend == "replay":
        if llm.replay.run is None:
            raise ConfigError("`llm.backend: replay` needs a run", hint="set `llm.replay.run` to a run directory")
        root = Path(llm.replay.run)
        return replaying(root, recording_of(root))
    retry = llm.retry
    backend = openai_backend(
        base_url=llm.base_url,
        api_key=resolved.environment.get(llm.api_key_env) or "",
        api_key_env=llm.api_key_env,
        timeout_sec=llm.timeout_sec,
        retry=RetryPolicy(
            max_retries=retry.max_retries,
            base_delay_sec=retry.base_delay_sec,
            cap_delay_sec=retry.cap_delay_sec,
            jitter_ratio=retry.jitter_ratio,
        ),
    )
    _refuse_to_leak(resolved)
    return backend


def _refuse_to_leak(resolved: "Resolved") -> None:
    """A project you only looked at must not choose where your own key is sent."""
    llm = resolved.settings.llm
    chosen = {"llm.base_url", "llm.api_key_env"} & resolved.by_project
    if chosen and resolved.environment.trust(llm.api_key_env) == "user":
        raise ConfigError(
            f"this project wants your `{llm.api_key_env}` to be sent to `{llm.base_url}`",
            hint=f"if that is right, say so yourself: --set llm.base_url={llm.base_url}"
            f" --set llm.api_key_env={llm.api_key_env}",
        )
