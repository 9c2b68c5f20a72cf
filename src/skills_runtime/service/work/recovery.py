"""Whether a run should be worked on, read off its state and what was said to it.

Pure.
"""

from collections.abc import Sequence

from skills_runtime.events.states import RunStatus
from skills_runtime.ports import InboxMessage
from skills_runtime.projections import RunState

STOPPED = "stopped"
_ANSWERS = frozenset({"approve", "answer", "cancel"})
"""Messages that a run which waits may have waited for."""


def goes_on(state: RunState, messages: Sequence[InboxMessage]) -> bool:
    """Whether a run that has just stopped by itself has been told what it waits for meanwhile."""
    if state.status is not RunStatus.WAITING_FOR_USER or state.waiting_kind == STOPPED:
        return False
    return any(message.kind in _ANSWERS for message in messages)


def wants_work(state: RunState, messages: Sequence[InboxMessage]) -> bool:
    """Whether a run nobody works on should go on: it was cut off, stopped, sent back, or told what it waits for."""
    if not state.open or state.status is RunStatus.REVIEW_REQUIRED:
        return False
    if state.status is not RunStatus.WAITING_FOR_USER or state.waiting_kind == STOPPED:
        return True
    return any(message.kind in _ANSWERS for message in messages)
