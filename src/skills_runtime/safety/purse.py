"""What a family of runs has spent so far: a budget that several share is counted while they work."""

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from skills_runtime.projections import RunView
    from skills_runtime.projections.state import Child


class Spent(msgspec.Struct, frozen=True):
    """Tokens, money and tool calls."""

    tokens: int = 0
    cost_usd: float = 0.0
    tool_calls: int = 0

    def __add__(self, more: "Spent") -> "Spent":
        """Both together."""
        return Spent(self.tokens + more.tokens, self.cost_usd + more.cost_usd, self.tool_calls + more.tool_calls)


def spent_alone(view: "RunView") -> Spent:
    """By the run itself, without its sub-agents."""
    state = view.state
    return Spent(state.input_tokens + state.output_tokens, state.cost_usd, view.conversation.settled)


def recorded(child: "Child") -> Spent:
    """By a sub-agent and those below it, as the log of the run that began it tells."""
    return Spent(child.tokens, child.cost_usd, child.tool_calls)


class Purse:
    """What one run and its sub-agents spend, and through the purse above it the whole family.

    A sub-agent at work is counted by what it has spent by now, any other by what the log says of it.
    """

    def __init__(self, view: "RunView", above: "Purse | None" = None) -> None:
        self.view = view
        self.below: dict[str, Purse] = {}
        """Those of sub-agents at work, by their ids."""
        self._above = above

    def open(self, child_id: str, view: "RunView") -> "Purse":
        """The purse of a sub-agent that begins its work; it counts from now on."""
        purse = self.below[child_id] = Purse(view, self)
        return purse

    def close(self, child_id: str, purse: "Purse") -> None:
        """From now on the log says what this sub-agent has spent, unless somebody works on it again."""
        if self.below.get(child_id) is purse:
            del self.below[child_id]

    def spent(self) -> Spent:
        """By the run and those below it, up to now."""
        total = spent_alone(self.view)
        for child_id, child in self.view.state.children.items():
            if child_id not in self.below:
                total += recorded(child)
        for purse in self.below.values():
            total += purse.spent()
        return total

    def used(self) -> Spent:
        """By the whole family; of the calls that are not settled yet those of all others count as made."""
        if self._above is None and not self.below:  # as most runs are: alone
            return self.spent()
        family = self
        while family._above is not None:
            family = family._above
        others = family._open_calls() - len(self.view.conversation.open_calls)
        return family.spent() + Spent(tool_calls=others)

    def _open_calls(self) -> int:
        below = sum(purse._open_calls() for purse in self.below.values())
        return len(self.view.conversation.open_calls) + below
