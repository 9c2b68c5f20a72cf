"""What a run may use up: reaching a limit is a value with a reason, never an accident."""

from abc import ABC, abstractmethod
from typing import Literal

import msgspec

from skills_runtime.projections import RunView
from skills_runtime.safety.purse import Spent

OnLimit = Literal["fail", "park"]


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The budget of one run; what sub-agents use counts, except for steps and time."""

    max_steps: int = 40
    max_wall_time_sec: float | None = None
    max_tool_calls: int | None = None
    max_tokens: int | None = None
    max_cost_usd: float | None = None
    on_limit: OnLimit = "fail"

    @property
    def are_shared(self) -> bool:
        """Whether there is one that a run and its sub-agents use up together."""
        return self.max_tool_calls is not None or self.max_tokens is not None or self.max_cost_usd is not None


class Spending(ABC):
    """Who knows what a run and all that share its budget have used by now; asked for at every turn."""

    @abstractmethod
    def catch_up(self) -> None:
        """Record what sub-agents have used that an earlier process did not get to record."""

    @abstractmethod
    def used(self) -> Spent:
        """By all of them together."""

    @abstractmethod
    def write_down(self) -> None:
        """Record what sub-agents at work have used by now: the run is about to end."""


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


def used_by(view: RunView) -> Spent:
    """What the log of a run tells of it and its sub-agents."""
    state = view.state
    return Spent(
        state.input_tokens + state.output_tokens + state.child_tokens,
        state.cost_usd + state.child_cost_usd,
        view.conversation.settled + state.child_tool_calls,
    )


def spent(view: RunView, limits: Limits, used: Spent | None = None) -> Reached | None:
    """The limit on tokens or money that the run has come to, if any; `used` is what all that share it have used."""
    if limits.max_tokens is None and limits.max_cost_usd is None:
        return None
    own = used_by(view)
    used = used or own
    if limits.max_tokens is not None and used.tokens >= limits.max_tokens:
        tokens = f"{used.tokens:,}"
        together = f"the run and those that share its budget have used {tokens} tokens"
        return Reached(f"the run has used {tokens} tokens" if used.tokens == own.tokens else together, "run.max_tokens")
    if limits.max_cost_usd is not None and used.cost_usd >= limits.max_cost_usd:
        cost = f"{used.cost_usd:.4f}"
        together = f"the run and those that share its budget have cost {cost} US dollars"
        alone = f"the run has cost {cost} US dollars"
        return Reached(alone if used.tokens == own.tokens else together, "run.max_cost_usd")
    return None


def calls_left(view: RunView, limits: Limits, used: Spent | None = None) -> tuple[int, Reached]:
    """How many open calls may still be settled, and which limit the next one would break."""
    allowed = limits.max_steps + view.state.extra_steps
    steps = allowed - view.conversation.settled
    if limits.max_tool_calls is not None:
        own = used_by(view).tool_calls
        made = used.tool_calls if used is not None else own
        rest = limits.max_tool_calls - made
        if rest >= steps:
            return steps, _out_of_steps(allowed)
        alone = f"the run and its sub-agents have made {made} tool calls"
        together = f"the run and those that share its budget have made {made} tool calls"
        return rest, Reached(alone if made == own else together, "run.max_tool_calls")
    return steps, _out_of_steps(allowed)


def _out_of_steps(allowed: int) -> Reached:
    return Reached(f"the run has made {allowed} tool calls", "run.max_steps")


def shared(view: RunView, limits: Limits) -> Limits:
    """What a sub-agent may use: the time that is left, and the budget of the run above, which they share."""
    return msgspec.structs.replace(limits, max_wall_time_sec=time_left(view, limits))
