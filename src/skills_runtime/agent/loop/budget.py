"""The budget of a run: its limits, the usage of the run and its sub-agents, and the limit they have reached.

A reached limit is returned as a value, never raised. Knows nothing of how a run ends.
"""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Literal

import msgspec

from skills_runtime.projections import RunView

if TYPE_CHECKING:
    from skills_runtime.projections import Child

OnLimit = Literal["fail", "park"]


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of one run; usage of sub-agents counts, except for steps and time."""

    max_steps: int = 40
    max_wall_time_sec: float | None = None
    max_tool_calls: int | None = None
    max_tokens: int | None = None
    max_cost_usd: float | None = None
    on_limit: OnLimit = "fail"

    @property
    def is_shared(self) -> bool:
        """Whether there is a limit that the run and its sub-agents share."""
        return self.max_tool_calls is not None or self.max_tokens is not None or self.max_cost_usd is not None


class Usage(msgspec.Struct, frozen=True):
    """Tokens, cost and tool calls."""

    tokens: int = 0
    cost_usd: float = 0.0
    tool_calls: int = 0

    def __add__(self, more: "Usage") -> "Usage":
        """Return the sum of both."""
        return Usage(self.tokens + more.tokens, self.cost_usd + more.cost_usd, self.tool_calls + more.tool_calls)


class LimitReached(msgspec.Struct, frozen=True):
    """A reached limit and the setting that would raise it."""

    message: str
    setting: str


OUT_OF_TIME = LimitReached("the run has used up its time", "run.max_wall_time_sec")
"""The limit reported by the timer."""


def own_usage(view: RunView) -> Usage:
    """Return the usage of the run itself, without sub-agents."""
    state = view.state
    return Usage(state.input_tokens + state.output_tokens, state.cost_usd or 0.0, view.conversation.finished_calls)


def child_usage(child: "Child") -> Usage:
    """Return the usage of a sub-agent and its descendants as recorded in the parent's log."""
    return Usage(child.tokens, child.cost_usd or 0.0, child.tool_calls)


def log_usage(view: RunView) -> Usage:
    """Return the usage of a run and its sub-agents according to its log."""
    state = view.state
    return own_usage(view) + Usage(state.child_tokens, state.child_cost_usd, state.child_tool_calls)


def time_left(view: RunView, budget: Budget) -> float | None:
    """Return the seconds left for this segment; earlier segments count."""
    if budget.max_wall_time_sec is None:
        return None
    return max(0.0, budget.max_wall_time_sec + view.state.extra_wall_time_sec - view.state.worked_sec)


def find_exceeded_limit(view: RunView, budget: Budget, usage: Usage | None = None) -> LimitReached | None:
    """Return the exceeded token or cost limit; `usage` is that of all runs that share the budget."""
    if budget.max_tokens is None and budget.max_cost_usd is None:
        return None
    own = log_usage(view)
    usage = usage or own
    is_alone = usage.tokens == own.tokens
    subject = "the run has" if is_alone else "the run and those that share its budget have"
    if budget.max_tokens is not None and usage.tokens >= budget.max_tokens:
        return LimitReached(f"{subject} used {usage.tokens:,} tokens", "run.max_tokens")
    if budget.max_cost_usd is not None and view.state.unpriced:
        return LimitReached("the cost of the run so far is unknown", "run.max_cost_usd")
    if budget.max_cost_usd is not None and usage.cost_usd >= budget.max_cost_usd:
        return LimitReached(f"{subject} cost {usage.cost_usd:.4f} US dollars", "run.max_cost_usd")
    return None


def calls_left(view: RunView, budget: Budget, usage: Usage | None = None) -> tuple[int, LimitReached]:
    """Return how many open calls may still be settled, and the limit that the next one would exceed."""
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
    """Return the budget of a sub-agent: the remaining time, and the shared limits of its parent."""
    return msgspec.structs.replace(budget, max_wall_time_sec=time_left(view, budget))


class UsageTracker(ABC):
    """Tracks the usage of all runs that share a budget; queried at every turn."""

    @abstractmethod
    def catch_up(self) -> None:
        """Record usage of sub-agents that an earlier process did not record."""

    @abstractmethod
    def total_usage(self) -> Usage:
        """Return the total usage of all runs that share the budget."""

    @abstractmethod
    def record_children(self) -> None:
        """Record the current usage of running sub-agents before the run ends."""


class SharedBudget:
    """Live usage of a run and its sub-agents, which share one budget across the whole tree.

    A running sub-agent counts with its live usage, any other with its logged usage.
    """

    def __init__(self, view: RunView, parent: "SharedBudget | None" = None) -> None:
        self.view = view
        self.children: dict[str, SharedBudget] = {}
        """Budgets of running sub-agents by id."""
        self._parent = parent

    def open(self, child_id: str, view: RunView) -> "SharedBudget":
        """Start counting a sub-agent live."""
        child = self.children[child_id] = SharedBudget(view, self)
        return child

    def close(self, child_id: str, child: "SharedBudget") -> None:
        """Count a sub-agent by the log again, unless it was restarted meanwhile."""
        if self.children.get(child_id) is child:
            del self.children[child_id]

    def subtree_usage(self) -> Usage:
        """Return the usage of the run and its descendants."""
        total = own_usage(self.view)
        for child_id, child in self.view.state.children.items():
            if child_id not in self.children:
                total += child_usage(child)
        for live in self.children.values():
            total += live.subtree_usage()
        return total

    def total_usage(self) -> Usage:
        """Return the usage of the whole tree; open calls of other runs count as made."""
        # Fast path: most runs have no relatives.
        if self._parent is None and not self.children:
            return self.subtree_usage()
        root = self
        while root._parent is not None:
            root = root._parent
        other_calls = root._open_calls() - len(self.view.conversation.open_calls)
        return root.subtree_usage() + Usage(tool_calls=other_calls)

    def _open_calls(self) -> int:
        child_calls = sum(child._open_calls() for child in self.children.values())
        return len(self.view.conversation.open_calls) + child_calls
