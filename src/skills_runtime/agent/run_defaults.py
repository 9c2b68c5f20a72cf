"""Per-agent values derived once from the settings: prices, budget, context window, and the model's backend."""

import shlex
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from skills_runtime.agent.configured_files import read_workspace_file
from skills_runtime.agent.loop.budget import Budget
from skills_runtime.agent.loop.model_call import arguments_of
from skills_runtime.agent.loop.ports import ContextRules
from skills_runtime.errors import ConfigError, SkillsRuntimeError
from skills_runtime.events import ContextCompacted, Event, LlmRequestStarted
from skills_runtime.llm import (
    SCRIPTED,
    Endpoint,
    ModelFacts,
    Price,
    RecordedAnswer,
    ReplayBackend,
    RetryingBackend,
    RetryPolicy,
    find_model_facts,
    load_script,
)
from skills_runtime.ports import Backend, ToolCall
from skills_runtime.projections import Conversation, fold
from skills_runtime.runs import RunPaths, blobs_of, whole_history

if TYPE_CHECKING:
    from skills_runtime.config import Resolved


DEFAULT_WINDOW_TOKENS = 128_000
"""The context window of a model of which nothing is known."""


class ModelChoice(NamedTuple):
    """The names of the models that answer."""

    planner: str
    executor: str

    def __str__(self) -> str:
        return self.planner if self.planner == self.executor else f"{self.planner} → {self.executor}"


class RunDefaults(msgspec.Struct, frozen=True, kw_only=True):
    """Values that are the same for every run with the same settings."""

    resolved: "Resolved"
    models: ModelChoice
    prices: Mapping[str, Price]
    budget: Budget
    context: ContextRules
    summary: Mapping[str, object]
    """Configuration summary for the first event of a segment."""


def build_defaults(resolved: "Resolved", backend: Backend) -> RunDefaults:
    """Derive the defaults; raise `ConfigError` if settings contradict each other."""
    recovery = resolved.settings.run.context_recovery
    models = model_names(resolved, backend)
    window = recovery.window_tokens or min(
        (facts.window_tokens or DEFAULT_WINDOW_TOKENS for facts in _find_facts(resolved, backend).values()),
        default=DEFAULT_WINDOW_TOKENS,
    )
    return RunDefaults(
        resolved=resolved,
        models=models,
        prices=prices_of(resolved, backend),
        budget=budget_of(resolved),
        context=ContextRules(
            mode=recovery.mode,
            window_tokens=window,
            compact_at=recovery.compact_at,
            max_compactions=recovery.max_compactions_per_run,
            keep_last_messages=recovery.compaction_keep_last_messages,
            history_max_chars=recovery.compaction_history_max_chars,
            skills_max_chars=recovery.skills_max_chars,
            fallback_mode=recovery.ask_first_fallback_mode,
            extra_steps=recovery.increase_budget_extra_steps,
            extra_wall_time_sec=recovery.increase_budget_extra_wall_time_sec,
        ),
        summary=config_summary(resolved, models),
    )


def model_names(resolved: "Resolved", backend: Backend | None) -> ModelChoice:
    """Return the names of the models that answer; a scripted or recorded one has its own name.

    A name that the embedding program gave counts for a scripted backend that it also gave.
    """
    configured = ModelChoice(resolved.settings.models.planner, resolved.settings.models.executor)
    own_names: tuple[str, str] | None = getattr(backend, "models", None)
    if own_names is None:
        return configured
    is_given = resolved.settings.llm.backend == "openai"
    return ModelChoice(
        *(
            name if is_given and resolved.sources[f"models.{field}"].startswith("session_settings") else own_name
            for field, name, own_name in zip(ModelChoice._fields, configured, own_names, strict=True)
        )
    )


def describe_models(resolved: "Resolved") -> str:
    """Return the names of the models that will answer; a broken script or recording is reported by the run."""
    backend: Backend | None = None
    if resolved.settings.llm.backend != "openai":
        with suppress(SkillsRuntimeError, OSError):
            backend = backend_for(resolved)
        if backend is None:
            return SCRIPTED
    return str(model_names(resolved, backend))


def _find_facts(resolved: "Resolved", backend: Backend) -> dict[str, ModelFacts]:
    """Return what is known of the configured models; nothing is known of a backend that the program gave itself."""
    if resolved.settings.llm.backend != "openai" or not isinstance(backend, RetryingBackend):
        return {}
    llm = resolved.settings.llm
    return {
        name: find_model_facts(name, base_url=llm.base_url, provider=llm.provider)
        for name in set(model_names(resolved, backend))
    }


def prices_of(resolved: "Resolved", backend: Backend) -> dict[str, Price]:
    """Return the prices of the models; raise `ConfigError` for a cost limit without prices."""
    settings = resolved.settings
    listed = {name: facts.price for name, facts in _find_facts(resolved, backend).items()}
    prices = {name: price for name, price in listed.items() if price is not None}
    for price in settings.llm.prices:
        prices[price.model] = Price(input=price.input, output=price.output, cached_input=price.cached_input)
    unknown = set(model_names(resolved, backend)) - prices.keys()
    if settings.run.max_cost_usd is not None and unknown:
        raise ConfigError(
            f"`run.max_cost_usd` cannot be checked: the price of `{min(unknown)}` is unknown",
            hint="set its price in `llm.prices`, or limit `run.max_tokens` instead",
        )
    return prices


def budget_of(resolved: "Resolved") -> Budget:
    """Return the budget from the settings."""
    run = resolved.settings.run
    return Budget(
        max_steps=run.max_steps,
        max_wall_time_sec=run.max_wall_time_sec,
        max_tool_calls=run.max_tool_calls,
        max_tokens=run.max_tokens,
        max_cost_usd=run.max_cost_usd,
        on_limit=run.on_limit,
    )


def config_summary(resolved: "Resolved", models: ModelChoice) -> Mapping[str, object]:
    """Return the configuration summary for the first event of a segment."""
    settings = resolved.settings
    return {
        "profile_id": settings.profile_id,
        "models": models._asdict(),
        "llm": {"base_url": settings.llm.base_url, "api_key_env": settings.llm.api_key_env},
        "sandbox": {"profile": settings.sandbox.profile, "policy_mode": settings.safety.mode},
        "config_overlays": [str(path) for path in resolved.overlay_paths],
    }


def backend_for(resolved: "Resolved") -> Backend:
    """Return the backend that `llm.backend` names."""
    return BACKENDS[resolved.settings.llm.backend](resolved)


def configured_endpoint(resolved: "Resolved") -> tuple[Endpoint, str]:
    """Return the configured address and its key; the key is empty if it is not set."""
    llm = resolved.settings.llm
    source = resolved.describe_origin("llm.base_url")
    endpoint = Endpoint(url=llm.base_url, source=source, key_variable=llm.api_key_env)
    return endpoint, (resolved.environment.get(llm.api_key_env) or "").strip()


def _openai_backend(resolved: "Resolved") -> Backend:
    from skills_runtime.config import is_key_required  # importing an agent must not load the settings
    from skills_runtime.llm import openai_backend  # slow to import

    llm = resolved.settings.llm
    retry = llm.retry
    endpoint, key = configured_endpoint(resolved)
    backend = openai_backend(
        endpoint,
        api_key=key,
        needs_key=is_key_required(llm.provider, llm.base_url),
        timeout_sec=llm.timeout_sec,
        retry=RetryPolicy(
            max_retries=retry.max_retries,
            base_delay_sec=retry.base_delay_sec,
            cap_delay_sec=retry.cap_delay_sec,
            jitter_ratio=retry.jitter_ratio,
        ),
    )
    # A project that was only opened must not choose where conversations are sent, even with its own key.
    if resolved.unconfirmed_model is not None:
        is_own = resolved.environment.trust(llm.api_key_env) == "user"
        request = f"your `{llm.api_key_env}` to be sent to" if is_own else "every conversation to be sent to"
        words = ["skills-runtime", "config", "confirm", llm.base_url, llm.api_key_env]
        if resolved.workspace_root != Path.cwd():
            words += ["--workspace-root", str(resolved.workspace_root)]
        raise ConfigError(
            f"this project wants {request} `{llm.base_url}`", hint=f"if you trust it: `{shlex.join(words)}`"
        )
    return backend


def _fake_backend(resolved: "Resolved") -> Backend:
    script = resolved.settings.llm.fake.script
    if not script:
        hint = (
            "`skills-runtime demo` shows a scripted run; for a script of your own set `llm.fake.script` to a YAML file"
        )
        raise ConfigError("`llm.backend: fake` needs a script", hint=hint)
    path = Path(script)
    return load_script(path, read_workspace_file(resolved.workspace_root, path, "llm.fake.script"))


def _replay_backend(resolved: "Resolved") -> Backend:
    run = resolved.settings.llm.replay.run
    if run is None:
        raise ConfigError("`llm.backend: replay` needs a run", hint="set `llm.replay.run` to a run directory")
    return replay_backend(Path(run), read_recording(Path(run)))


BACKENDS: Mapping[str, Callable[["Resolved"], Backend]] = {
    "openai": _openai_backend,
    "fake": _fake_backend,
    "replay": _replay_backend,
}
"""Backend factories by the value of `llm.backend`."""


class Recording(msgspec.Struct):
    """The complete conversation of a run, including what compaction dropped, and the summaries."""

    conversation: Conversation = msgspec.field(default_factory=Conversation)
    summaries: list[str] = []
    requests: list[str] = []
    """The model of each request of a turn."""

    def apply(self, event: Event) -> None:
        """Apply the next event."""
        if isinstance(event.payload, ContextCompacted):
            self.summaries.append(event.payload.summary)
        else:
            if isinstance(event.payload, LlmRequestStarted) and event.payload.purpose != "compaction":
                self.requests.append(event.payload.model)
            self.conversation.apply(event)


def read_recording(root: Path) -> Recording:
    """Read the recording from the log of a run."""
    return fold(whole_history(RunPaths(root)), Recording())


def replay_backend(root: Path, recording: Recording) -> ReplayBackend:
    """Return a backend that repeats every complete answer of a run in order."""
    blobs = blobs_of(RunPaths(root))
    conversation = recording.conversation
    answers = [
        RecordedAnswer(
            message.text,
            [ToolCall(id=call.id, name=call.tool, arguments=arguments_of(call, blobs.get)) for call in message.calls],
        )
        for message in conversation.messages[
            conversation.preamble_count :
        ]  # messages from the session's history are not answers of this run
        if message.role == "assistant" and not any(call.id in conversation.called_skills for call in message.calls)
    ]
    models = (recording.requests[0], recording.requests[-1]) if recording.requests else (SCRIPTED, SCRIPTED)
    return ReplayBackend(answers, compactions=recording.summaries, models=models)
