"""Per-agent values derived once from the settings: prices, budget, context window, and the model's backend."""

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.agent.configured_files import read_workspace_file
from skills_runtime.agent.loop.budget import Budget
from skills_runtime.agent.loop.model_call import arguments_of
from skills_runtime.agent.loop.ports import ContextRules
from skills_runtime.errors import ConfigError
from skills_runtime.events import ContextCompacted, Event
from skills_runtime.llm import Price, RecordedAnswer, ReplayBackend, RetryPolicy, load_script, openai_backend
from skills_runtime.ports import Backend, ToolCall
from skills_runtime.projections import Conversation, fold
from skills_runtime.runs import RunPaths, blobs_of, whole_history

if TYPE_CHECKING:
    from skills_runtime.config import Resolved


class RunDefaults(msgspec.Struct, frozen=True, kw_only=True):
    """Values that are the same for every run with the same settings."""

    resolved: "Resolved"
    prices: Mapping[str, Price]
    budget: Budget
    context: ContextRules
    summary: Mapping[str, object]
    """Configuration summary for the first event of a segment."""


def build_defaults(resolved: "Resolved") -> RunDefaults:
    """Derive the defaults; raise `ConfigError` if settings contradict each other."""
    recovery = resolved.settings.run.context_recovery
    return RunDefaults(
        resolved=resolved,
        prices=prices_of(resolved),
        budget=budget_of(resolved),
        context=ContextRules(
            mode=recovery.mode,
            window_tokens=recovery.window_tokens,
            compact_at=recovery.compact_at,
            max_compactions=recovery.max_compactions_per_run,
            keep_last_messages=recovery.compaction_keep_last_messages,
            history_max_chars=recovery.compaction_history_max_chars,
            skills_max_chars=recovery.skills_max_chars,
            fallback_mode=recovery.ask_first_fallback_mode,
            extra_steps=recovery.increase_budget_extra_steps,
            extra_wall_time_sec=recovery.increase_budget_extra_wall_time_sec,
        ),
        summary=config_summary(resolved),
    )


def prices_of(resolved: "Resolved") -> dict[str, Price]:
    """Return the prices of the models; raise `ConfigError` for a cost limit without prices."""
    settings = resolved.settings
    prices = {price.model: price for price in settings.llm.prices}
    unknown = {settings.models.planner, settings.models.executor} - prices.keys()
    if settings.run.max_cost_usd is not None and unknown:
        raise ConfigError(f"`run.max_cost_usd` needs the price of `{min(unknown)}`", hint="set it in `llm.prices`")
    return {
        name: Price(input=price.input, output=price.output, cached_input=price.cached_input)
        for name, price in prices.items()
    }


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


def config_summary(resolved: "Resolved") -> Mapping[str, object]:
    """Return the configuration summary for the first event of a segment."""
    settings = resolved.settings
    return {
        "profile_id": settings.profile_id,
        "models": {"planner": settings.models.planner, "executor": settings.models.executor},
        "llm": {"base_url": settings.llm.base_url, "api_key_env": settings.llm.api_key_env},
        "sandbox": {"profile": settings.sandbox.profile, "policy_mode": settings.safety.mode},
        "config_overlays": [str(path) for path in resolved.overlay_paths],
    }


def backend_for(resolved: "Resolved") -> Backend:
    """Return the backend that `llm.backend` names."""
    return BACKENDS[resolved.settings.llm.backend](resolved)


def _openai_backend(resolved: "Resolved") -> Backend:
    llm = resolved.settings.llm
    retry = llm.retry
    backend = openai_backend(
        base_url=llm.base_url,
        api_key=resolved.environment.get(llm.api_key_env) or "",
        api_key_env=llm.api_key_env,
        address_source=resolved.describe_origin("llm.base_url"),
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
        raise ConfigError(
            f"this project wants {request} `{llm.base_url}`",
            hint=f"if that is right: `skills-runtime config confirm {shlex.quote(llm.base_url)} {llm.api_key_env}`",
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

    def apply(self, event: Event) -> None:
        """Apply the next event."""
        if isinstance(event.payload, ContextCompacted):
            self.summaries.append(event.payload.summary)
        else:
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
    return ReplayBackend(answers, compactions=recording.summaries)
