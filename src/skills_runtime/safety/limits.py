"""What a run may use up: reaching a limit is a value with a reason, never an accident."""

from typing import Literal

import msgspec

from skills_runtime.projections import RunView

OnLimit = Literal["fail", "park"]


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The budget of one run; what sub-agents use counts, except for steps and time."""

    max_steps: int = 40
    max_wall_time_sec: float | None = None
    max_tool_calls: int | None = None
    max_tokens: int | None = None
    max_cost_usd: float | None = None
    on_limit: OnLimit = "fail"


class Reached(msgspec.Struct, frozen=True):
    """A limit that a run has come to, and the setting that would move it."""

    message: str
    setting: str


def time_left(view: RunView, limits: Limits) -> float | None:
    """Seconds this segment may take, with what earlier ones took left out."""
    if limits.max_wall_time_sec is None:
        return None
    return max(0.0, limits.max_wall_time_sec + view.state.extra_wall_time_sec - view.state.worked_sec)


def out_of_time() -> Reached:
    """The limit that a timer found."""
    return Reached("the run has used up its time", "run.max_wall_time_sec")


def spent(view: RunView, limits: Limits) -> Reached | None:
    """The limit on tokens or money that the run has come to, if any."""
    tokens, cost = tokens_used(view), cost_of(view)
    if limits.max_tokens is not None and tokens >= limits.max_tokens:
        return Reached(f"the run has used {tokens:,} tokens", "run.max_tokens")
    if limits.max_cost_usd is not None and cost >= limits.max_cost_usd:
        return Reached(f"the run has cost {cost:.4f} US dollars", "run.max_cost_usd")
    return None


def calls_left(view: RunView, limits: Limits) -> tuple[int, Reached]:
    """How many open calls may still be settled, and which limit the next one would break."""
    allowed = limits.max_steps + view.state.extra_steps
    steps = allowed - view.conversation.settled
    made = calls_made(view)
    rest = steps if limits.max_tool_calls is None else limits.max_tool_calls - made
    if rest < steps:
        return rest, Reached(f"the run and its sub-agents have made {made} tool calls", "run.max_tool_calls")
    return steps, Reached(f"the run has made {allowed} tool calls", "run.max_steps")


def rest_of(view: RunView, limits: Limits) -> Limits:
    """What is left for a sub-agent, with the calls under way already taken off."""
    made = calls_made(view) + len(view.conversation.open_calls)
    return msgspec.structs.replace(
        limits,
        max_wall_time_sec=time_left(view, limits),
        max_tool_calls=None if limits.max_tool_calls is None else max(0, limits.max_tool_calls - made),
        max_tokens=None if limits.max_tokens is None else max(0, limits.max_tokens - tokens_used(view)),
        max_cost_usd=None if limits.max_cost_usd is None else max(0.0, limits.max_cost_usd - cost_of(view)),
    )


def tokens_used(view: RunView) -> int:
    """By the run and its sub-agents."""
    return view.state.input_tokens + view.state.output_tokens + view.state.child_tokens


def cost_of(view: RunView) -> float:
    """Of the run and its sub-agents."""
    return view.state.cost_usd + view.state.child_cost_usd


def calls_made(view: RunView) -> int:
    """By the run and its sub-agents."""
    return view.conversation.settled + view.state.child_tool_calls
