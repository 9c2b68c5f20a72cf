"""The budget of a run: what it may use, what it and its sub-agents have used, and which limit they have come to.

Reaching a limit is a value with a reason, never an exception. Knows nothing of how a run ends.
"""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Literal

import msgspec

from skills_runtime.projections import RunView

if TYPE_CHECKING:
    from skills_runtime.projections import Child

OnLimit = Literal["fail", "park"]


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one run; what sub-agents use counts, except for steps and time."""

    max_steps: int = 40
    max_wall_time_sec: float | None = None
    max_tool_calls: int | None = None
    max_tokens: int | None = None
    max_cost_usd: float | None = None
    on_limit: OnLimit = "fail"

    @property
    def is_shared(self) -> bool:
        """Whether there is a limit that a run and its sub-agents use up together."""
        return self.max_tool_calls is not None or self.max_tokens is not None or self.max_cost_usd is not None


class Usage(msgspec.Struct, frozen=True):
    """Tokens, money and tool calls."""

    tokens: int = 0
    cost_usd: float = 0.0
    tool_calls: int = 0

    def __add__(self, more: "Usage") -> "Usage":
        """Both together."""
        return Usage(self.tokens + more.tokens, self.cost_usd + more.cost_usd, self.tool_calls + more.tool_calls)


class LimitReached(msgspec.Struct, frozen=True):
    """A limit that a run has come to, and the setting that would move it."""

    message: str
    setting: str


OUT_OF_TIME = LimitReached("the run has used up its time", "run.max_wall_time_sec")
"""The limit that a timer finds."""


def own_usage(view: RunView) -> Usage:
    """Return what the run itself has used, without its sub-agents."""
    state = view.state
    return Usage(state.input_tokens + state.output_tokens, state.cost_usd, view.conversation.finished_calls)


def child_usage(child: "Child") -> Usage:
    """Return what a sub-agent and those below it have used, as the log of their parent says."""
    return Usage(child.tokens, child.cost_usd, child.tool_calls)


def log_usage(view: RunView) -> Usage:
    """Return what the log of a run says that it and its sub-agents have used."""
    state = view.state
    return own_usage(view) + Usage(state.child_tokens, state.child_cost_usd, state.child_tool_calls)


def time_left(view: RunView, budget: Budget) -> float | None:
    """Return the seconds this segment may take: what earlier segments took is used up."""
    if budget.max_wall_time_sec is None:
        return None
    return max(0.0, budget.max_wall_time_sec + view.state.extra_wall_time_sec - view.state.worked_sec)


def find_exceeded_limit(view: RunView, budget: Budget, usage: Usage | None = None) -> LimitReached | None:
    """Return the limit on tokens or money that the run has come to; `used` is by all runs that share the budget."""
    if budget.max_tokens is None and budget.max_cost_usd is None:
        return None
    own = log_usage(view)
    usage = usage or own
    is_alone = usage.tokens == own.tokens
    subject = "the run has" if is_alone else "the run and those that share its budget have"
    if budget.max_tokens is not None and usage.tokens >= budget.max_tokens:
        return LimitReached(f"{subject} used {usage.tokens:,} tokens", "run.max_tokens")
    if budget.max_cost_usd is not None and usage.cost_usd >= budget.max_cost_usd:
        return LimitReached(f"{subject} cost {usage.cost_usd:.4f} US dollars", "run.max_cost_usd")
    return None


def calls_left(view: RunView, budget: Budget, usage: Usage | None = None) -> tuple[int, LimitReached]:
    """Return how many open calls may still be settled, and which limit the next one would break."""
    allowed = budget.max_steps + view.state.extra_steps
    steps = allowed - view.conversation.finished_calls
    out_of_steps = LimitReached(f"the run has made {allowed} tool calls", "run.max_steps")
    if budget.max_tool_calls is None:
        return steps, out_of_steps
    own = log_usage(view).tool_calls
    calls_made = usage.tool_calls if usage is not None else own
    remaining = budget.max_tool_calls - calls_made
    if remaining >= steps:
        return steps, out_of_steps
    sharers = "its sub-agents" if calls_made == own else "those that share its budget"
    return remaining, LimitReached(f"the run and {sharers} have made {calls_made} tool calls", "run.max_tool_calls")


def child_budget(view: RunView, budget: Budget) -> Budget:
    """Return what a sub-agent may use: the time that is left, and the budget of its parent, which they share."""
    return msgspec.structs.replace(budget, max_wall_time_sec=time_left(view, budget))


class UsageTracker(ABC):
    """Knows what a run and all that share its budget have used by now; asked at every turn."""

    @abstractmethod
    def catch_up(self) -> None:
        """Record what sub-agents have used that an earlier process did not get to record."""

    @abstractmethod
    def total_usage(self) -> Usage:
        """Return the usage of all of them together."""

    @abstractmethod
    def record_children(self) -> None:
        """Record what sub-agents at work have used by now: the run is about to end."""


class SharedBudget:
    """Live usage of a run and its sub-agents, which share one budget, and through the parent of the whole tree.

    A sub-agent at work is counted by what it has used by now, any other by what the log says of it.
    """

    def __init__(self, view: RunView, parent: "SharedBudget | None" = None) -> None:
        self.view = view
        self.children: dict[str, SharedBudget] = {}
        """Those of sub-agents at work, by their ids."""
        self._parent = parent

    def open(self, child_id: str, view: RunView) -> "SharedBudget":
        """Count a sub-agent live from now on."""
        child = self.children[child_id] = SharedBudget(view, self)
        return child

    def close(self, child_id: str, child: "SharedBudget") -> None:
        """Count a sub-agent by the log from now on, unless it is already worked on again."""
        if self.children.get(child_id) is child:
            del self.children[child_id]

    def subtree_usage(self) -> Usage:
        """Return what the run and those below it have used up to now."""
        total = own_usage(self.view)
        for child_id, child in self.view.state.children.items():
            if child_id not in self.children:
                total += child_usage(child)
        for live in self.children.values():
            total += live.subtree_usage()
        return total

    def total_usage(self) -> Usage:
        """Return the usage of the whole tree; the open calls of all other runs count as made."""
        if self._parent is None and not self.children:  # as most runs are: alone
            return self.subtree_usage()
        root = self
        while root._parent is not None:
            root = root._parent
        other_calls = root._open_calls() - len(self.view.conversation.open_calls)
        return root.subtree_usage() + Usage(tool_calls=other_calls)

    def _open_calls(self) -> int:
        child_calls = sum(child._open_calls() for child in self.children.values())
        return len(self.view.conversation.open_calls) + child_calls
