"""The nine states of a run, and the allowed transitions."""

from collections.abc import Mapping
from enum import StrEnum

from skills_runtime.errors import IllegalTransition, ValidationFailed


class RunStatus(StrEnum):
    """The status of a run."""

    PENDING = "pending"
    RUNNING = "running"
    WAITING_FOR_TOOL = "waiting_for_tool"
    WAITING_FOR_USER = "waiting_for_user"
    REVIEW_REQUIRED = "review_required"
    REVISION_REQUIRED = "revision_required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def terminal(self) -> bool:
        """Return whether the state is final."""
        return not TRANSITIONS[self]


S = RunStatus
_ENDS = frozenset({S.FAILED, S.CANCELLED})

TRANSITIONS: Mapping[RunStatus, frozenset[RunStatus]] = {
    S.PENDING: _ENDS | {S.RUNNING},
    S.RUNNING: _ENDS | {S.WAITING_FOR_TOOL, S.WAITING_FOR_USER, S.REVIEW_REQUIRED, S.COMPLETED},
    S.WAITING_FOR_TOOL: _ENDS | {S.RUNNING},
    S.WAITING_FOR_USER: _ENDS | {S.RUNNING},
    S.REVIEW_REQUIRED: _ENDS | {S.COMPLETED, S.REVISION_REQUIRED},
    S.REVISION_REQUIRED: _ENDS | {S.RUNNING},
    S.COMPLETED: frozenset(),
    S.FAILED: frozenset(),
    S.CANCELLED: frozenset(),
}
"""The allowed next states of each state."""


def parse_status(value: str) -> RunStatus:
    """Return the status named by `value`, or raise a clear error."""
    try:
        return RunStatus(value)
    except ValueError:
        statuses = ", ".join(RunStatus)
        raise ValidationFailed(f"`{value}` is not a run status", hint=f"use one of: {statuses}") from None


def check_transition(current: RunStatus, target: RunStatus) -> None:
    """Raise unless a run in state `current` may move to `target`."""
    if target not in TRANSITIONS[current]:
        allowed = ", ".join(sorted(TRANSITIONS[current])) or "nothing: it is terminal"
        message = f"a run that is `{current}` cannot become `{target}`"
        raise IllegalTransition(message, hint=f"it may become: {allowed}", status=current)
