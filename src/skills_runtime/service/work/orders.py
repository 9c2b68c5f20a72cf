"""What clients ask for, as values, and how much of it they are given.

Pure: a client may make a run smaller than the operator's settings allow, never larger.
"""

import hashlib
from typing import Any, Literal

import msgspec

from skills_runtime.config import Settings
from skills_runtime.errors import AccessRefused

_LIMITS = ("max_steps", "max_wall_time_sec", "max_tool_calls", "max_tokens", "max_cost_usd")


class Wishes(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What may be different in one run."""

    model: str | None = None
    max_steps: int | None = None
    max_wall_time_sec: int | None = None
    max_tool_calls: int | None = None
    max_tokens: int | None = None
    max_cost_usd: float | None = None
    on_limit: Literal["fail", "park"] | None = None
    review: bool = False
    """Whether somebody must accept the result."""

    def settings(self) -> dict[str, Any]:
        """The same as settings."""
        run: dict[str, Any] = {name: getattr(self, name) for name in (*_LIMITS, "on_limit")}
        run["review"] = "required" if self.review else None
        given = {name: value for name, value in run.items() if value is not None}
        models = {"planner": self.model, "executor": self.model} if self.model else {}
        return {**({"run": given} if given else {}), **({"models": models} if models else {})}


class Order(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run somebody wants."""

    prompt: str
    session_id: str | None = None
    task_id: str | None = None
    run_id: str | None = None
    wishes: Wishes = Wishes()
    fork_of: str | None = None
    """The run it goes on from."""
    fork_at: int | None = None
    """The last event of that run to keep; nothing means all of them."""
    skill_sources: tuple[str, ...] = ()
    """Directories of skills that the session uses besides."""

    @property
    def digest(self) -> str:
        """What tells two orders apart."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()


def refuse_more(wishes: Wishes, allowed: Settings) -> None:
    """Refuse a limit that is larger than the operator's."""
    for name in _LIMITS:
        wanted, limit = getattr(wishes, name), getattr(allowed.run, name)
        if wanted is not None and limit is not None and wanted > limit:
            raise AccessRefused(
                f"`{name}` may be at most {limit} here", hint=f"ask for less, or let the operator raise `run.{name}`"
            )
