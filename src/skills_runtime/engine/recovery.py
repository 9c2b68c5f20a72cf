"""Whether a run should be worked on, by its state and the messages to it, and whether the process that did is gone."""

import os
from collections.abc import Sequence

from skills_runtime.events import RunStatus
from skills_runtime.ports import InboxMessage
from skills_runtime.projections import RunState
from skills_runtime.runs import RunPaths

PROCESS_GONE = "the process that worked on this run has ended"
STOPPED = "stopped"
_NAME_BYTES = 20
_ANSWERS = frozenset({"approve", "answer", "cancel"})
"""Messages that a run which waits may have waited for."""


def should_continue(state: RunState, messages: Sequence[InboxMessage]) -> bool:
    """Whether a run that has just stopped by itself has been told what it waits for meanwhile."""
    if state.status is not RunStatus.WAITING_FOR_USER or state.waiting_kind == STOPPED:
        return False
    return any(message.kind in _ANSWERS for message in messages)


def should_resume(state: RunState, messages: Sequence[InboxMessage]) -> bool:
    """Whether a run nobody works on should go on: it was cut off, stopped, sent back, or told what it waits for."""
    if not state.open or state.status is RunStatus.REVIEW_REQUIRED:
        return False
    if state.status is not RunStatus.WAITING_FOR_USER or state.waiting_kind == STOPPED:
        return True
    return any(message.kind in _ANSWERS for message in messages)


def explain_orphaned(paths: RunPaths, state: RunState) -> str | None:
    """Why a run that should go on does not; nothing where somebody may be at work on it.

    The lock itself is not tried: whoever opens the run at this moment would be refused.
    """
    if state.status is RunStatus.WAITING_FOR_USER or not should_resume(state, ()):
        return None
    holder = _read_holder(paths)
    return PROCESS_GONE if holder is not None and not _is_alive(holder) else None


def _read_holder(paths: RunPaths) -> int | None:
    """The process that wrote its number into the lock last."""
    try:
        with paths.lock.open("rb") as file:
            name = file.read(_NAME_BYTES).strip()
    except OSError:
        return None
    return int(name) if name.isdigit() and int(name) > 0 else None


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True  # of another user
    return True
