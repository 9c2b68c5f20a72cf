"""What the settings mean for every run of an agent, found out once: prices, limits, room for context."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.agent.budget import Budget
from skills_runtime.agent.window import ContextRules
from skills_runtime.errors import ConfigError
from skills_runtime.llm import Price

if TYPE_CHECKING:
    from skills_runtime.config import Resolved


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """What is the same in every run under the same settings."""

    resolved: "Resolved"
    prices: Mapping[str, Price]
    budget: Budget
    context: ContextRules
    summary: Mapping[str, object]
    """What the first event of a segment says about its configuration."""


def standing_of(resolved: "Resolved") -> Standing:
    """All of it; raises `ConfigError` where settings do not fit together."""
    return Standing(
        resolved=resolved,
        prices=prices_of(resolved),
        budget=budget_of(resolved),
        context=_context(resolved),
        summary=config_summary(resolved),
    )


def prices_of(resolved: "Resolved") -> dict[str, Price]:
    """What the models cost; a limit on money without a price is refused."""
    settings = resolved.settings
    prices = {one.model: one for one in settings.llm.prices}
    unknown = {settings.models.planner, settings.models.executor} - prices.keys()
    if settings.run.max_cost_usd is not None and unknown:
        raise ConfigError(f"`run.max_cost_usd` needs the price of `{min(unknown)}`", hint="set it in `llm.prices`")
    return {
        name: Price(input=price.input, output=price.output, cached_input=price.cached_input)
        for name, price in prices.items()
    }


def budget_of(resolved: "Resolved") -> Budget:
    """The budget that the settings give."""
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
    """What the first event of a segment says about its configuration."""
    settings = resolved.settings
    return {
        "profile_id": settings.profile_id,
        "models": {"planner": settings.models.planner, "executor": settings.models.executor},
        "llm": {"base_url": settings.llm.base_url, "api_key_env": settings.llm.api_key_env},
        "sandbox": {"profile": settings.sandbox.profile, "policy_mode": settings.safety.mode},
        "config_overlays": [str(path) for path in resolved.overlay_paths],
    }


def _context(resolved: "Resolved") -> ContextRules:
    recovery = resolved.settings.run.context_recovery
    return ContextRules(
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
    )
