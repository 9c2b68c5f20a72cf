"""Decide whether a run should be continued, from its state and its messages, and whether its process is gone."""

import os
from collections.abc import Sequence

from skills_runtime.events import RunStatus
from skills_runtime.ports import InboxMessage
from skills_runtime.projections import RunState
from skills_runtime.runs import RunPaths

PROCESS_GONE = "the process that executed this run has ended"
STOPPED = "stopped"
_NAME_BYTES = 20
_ANSWERS = frozenset({"approve", "answer", "cancel"})
"""Messages that a waiting run may be waiting for."""


def should_continue(state: RunState, messages: Sequence[InboxMessage]) -> bool:
    """Return whether a run that just parked has meanwhile received what it waits for."""
    if state.status is not RunStatus.WAITING_FOR_USER or state.waiting_kind == STOPPED:
        return False
    return any(message.kind in _ANSWERS for message in messages)


def should_resume(state: RunState, messages: Sequence[InboxMessage]) -> bool:
    """Return whether an idle run should continue: it was interrupted, stopped, sent back, or received its answer."""
    if not state.open or state.status is RunStatus.REVIEW_REQUIRED:
        return False
    if state.status is not RunStatus.WAITING_FOR_USER or state.waiting_kind == STOPPED:
        return True
    return any(message.kind in _ANSWERS for message in messages)


def explain_orphaned(paths: RunPaths, state: RunState) -> str | None:
    """Explain why a run that should continue does not; nothing if a process may be executing it.

    The lock itself is not tried: that would make a process fail that opens the run at this moment.
    """
    if state.status is RunStatus.WAITING_FOR_USER or not should_resume(state, ()):
        return None
    holder = _read_holder(paths)
    return PROCESS_GONE if holder is not None and not _is_alive(holder) else None


def _read_holder(paths: RunPaths) -> int | None:
    """Return the process that last wrote its id into the lock."""
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
