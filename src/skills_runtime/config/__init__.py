"""Configuration: many sources, one frozen `Settings`, and an answer to where each field comes from."""

from skills_runtime.config.environment import Environment, config_home, state_home, without_dotenv
from skills_runtime.config.models import Settings
from skills_runtime.config.resolve import Defaults, Origin, Resolved, ResolvedRunConfig, explain, resolve, snapshot

__all__ = [
    "Defaults",
    "Environment",
    "Origin",
    "Resolved",
    "ResolvedRunConfig",
    "Settings",
    "config_home",
    "explain",
    "resolve",
    "snapshot",
    "state_home",
    "without_dotenv",
]
