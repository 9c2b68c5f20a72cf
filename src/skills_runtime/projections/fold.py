"""The one way to compute anything about a run: feed its events, in order, to a projection."""

from collections.abc import Iterable
from typing import Protocol, TypeVar

from skills_runtime.events import Event


class Projection(Protocol):
    """Something that is a function of the events it has seen, and of nothing else."""

    def apply(self, event: Event) -> None:
        """Take in the next event."""
        ...


P = TypeVar("P", bound=Projection)


def fold(events: Iterable[Event], state: P) -> P:
    """Feed `events` to `state` and return it; folding in two parts gives the same as folding at once."""
    for event in events:
        state.apply(event)
    return state
