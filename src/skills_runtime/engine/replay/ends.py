"""How recorded runs ended: only what follows from what was said and done ends a replay as well."""

from collections.abc import Iterable

from skills_runtime.events import Event
from skills_runtime.events.payloads import RunCancelled, RunCompleted, RunFailed

BY_SOMEBODY = frozenset({"review", "handoff"})
"""What a run is completed with when somebody decided that it is."""
NOT_COUNTED_AGAIN = ("run.max_wall_time_sec", "run.max_tokens", "run.max_cost_usd", "run.max_tool_calls")
"""Limits on what a replay does not use up, or not all of it: of the calls, those of runs with the same budget."""
DECIDED_BY_THE_LOOP = frozenset({"validation", "approval_denied"})
"""Failures that follow from what was said and done."""


def was_ended_from_outside(events: Iterable[Event]) -> bool:
    """Whether somebody, a clock or a service ended the run, so that nothing recorded ends it again."""
    ends = [event.payload for event in events if isinstance(event.payload, RunCompleted | RunCancelled | RunFailed)]
    match ends[-1:]:
        case [RunCompleted(metadata=metadata)]:
            return bool(metadata.keys() & BY_SOMEBODY)
        case [RunCancelled()]:
            return True
        case [RunFailed(error_kind="budget_exceeded", details=details)]:
            return any(setting in str(details.get("hint")) for setting in NOT_COUNTED_AGAIN)
        case [RunFailed(error_kind=kind)]:
            return kind not in DECIDED_BY_THE_LOOP
        case _:
            return False
