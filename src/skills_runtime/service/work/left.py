"""Runs that nobody works on any more, because the process that did is gone."""

import os

from skills_runtime.events.states import RunStatus
from skills_runtime.projections import RunState
from skills_runtime.runs import RunPaths
from skills_runtime.service.work.recovery import wants_work

GONE = "the process that worked on this run has ended"
_NAME_BYTES = 20


def why_left(paths: RunPaths, state: RunState) -> str | None:
    """Why a run that should go on does not; nothing where somebody may be at work on it.

    The lock itself is not tried: whoever opens the run at this moment would be refused.
    """
    if state.status is RunStatus.WAITING_FOR_USER or not wants_work(state, ()):
        return None
    holder = _holder(paths)
    return GONE if holder is not None and not _runs(holder) else None


def _holder(paths: RunPaths) -> int | None:
    """The process that wrote its number into the lock last."""
    try:
        with paths.lock.open("rb") as file:
            name = file.read(_NAME_BYTES).strip()
    except OSError:
        return None
    return int(name) if name.isdigit() and int(name) > 0 else None


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True  # of another user
    return True
