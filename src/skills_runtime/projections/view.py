"""The fold, and everything that a writer of a run needs in one fold, so that resuming reads the log once."""

from collections.abc import Iterable
from typing import Protocol, TypeVar

import msgspec

from skills_runtime.events import Event
from skills_runtime.projections import conversation, files, pending
from skills_runtime.projections.conversation import Conversation
from skills_runtime.projections.files import FileRecords
from skills_runtime.projections.pending import Pending
from skills_runtime.projections.state import RunState

VIEW_KIND = "run-view/12"
"""Changes whenever the shape or the meaning of the view does, so that old snapshots are discarded."""


class Projection(Protocol):
    """A pure function of the events it has seen."""

    def apply(self, event: Event) -> None:
        """Apply the next event."""
        ...


P = TypeVar("P", bound=Projection)


def fold(events: Iterable[Event], state: P) -> P:
    """Apply `events` to `state` and return it; folding in two parts gives the same as folding at once."""
    for event in events:
        state.apply(event)
    return state


class RunView(msgspec.Struct):
    """State, conversation, files and open requests of one run."""

    state: RunState = msgspec.field(default_factory=RunState)
    conversation: Conversation = msgspec.field(default_factory=Conversation)
    files: FileRecords = msgspec.field(default_factory=FileRecords)
    pending: Pending = msgspec.field(default_factory=Pending)

    def apply(self, event: Event) -> None:
        """Apply the next event; for speed, only to the projections that read its type."""
        self.state.apply(event)
        for name in _READERS.get(type(event.payload), ()):
            getattr(self, name).apply(event)


_READERS = {
    kind: tuple(
        name
        for name, reads in (("conversation", conversation.READS), ("files", files.READS), ("pending", pending.READS))
        if kind in reads
    )
    for kind in conversation.READS | files.READS | pending.READS
}
