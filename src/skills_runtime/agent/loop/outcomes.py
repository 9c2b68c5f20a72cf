"""The events that a segment of work ends with: waiting, failed, stopped, cancelled."""

from skills_runtime.agent.budget import LimitReached, OnLimit
from skills_runtime.errors import ModelError, SkillsRuntimeError
from skills_runtime.events.payloads import RunCancelled, RunFailed, RunWaitingHuman
from skills_runtime.projections import Call, RunView


def waiting_for_person(call: Call, view: RunView, locator: str) -> RunWaitingHuman:
    """Return the event for a call that waits for a person."""
    what = "an approval" if view.pending.approvals.of_call(call.id) is not None else "an answer"
    return RunWaitingHuman(
        message=f"`{call.tool}` waits for {what}", tool=call.tool, call_id=call.id, wal_locator=locator
    )


def limit_reached(reached: LimitReached, on_limit: OnLimit, locator: str) -> RunFailed | RunWaitingHuman:
    """Return the event for a reached limit: the run has failed, or waits for somebody to give it more."""
    if on_limit == "park":
        message = f"{reached.message}; `{reached.setting}` would give it more"
        return RunWaitingHuman(message=message, error_kind="budget_exceeded", wal_locator=locator)
    return RunFailed(
        error_kind="budget_exceeded",
        message=reached.message,
        details={"hint": f"raise `{reached.setting}`"},
        wal_locator=locator,
    )


def failed(error: SkillsRuntimeError, locator: str) -> RunFailed:
    """Return the event for an error of the runtime."""
    return RunFailed(
        error_kind=error.kind,
        message=error.message,
        retryable=isinstance(error, ModelError) and error.retryable,
        details={"hint": error.hint} if error.hint else {},
        wal_locator=locator,
    )


def stopped(locator: str) -> RunWaitingHuman:
    """Return the event for work that was stopped and can go on."""
    return RunWaitingHuman(message="stopped", error_kind="stopped", wal_locator=locator)


def interrupted(view: RunView, broken: str, locator: str) -> RunCancelled | RunFailed:
    """Return the event for work that was stopped for good, by a person or because the cancel checker is `broken`."""
    if broken:
        return RunFailed(error_kind="unknown", message=broken, wal_locator=locator)
    return RunCancelled(message=view.pending.cancelled or "cancelled", wal_locator=locator)
