"""How work on a run stops, in the words of its log."""

from skills_runtime.agent.budget import LimitReached, OnLimit
from skills_runtime.errors import ModelError, SkillsRuntimeError
from skills_runtime.events.payloads import RunCancelled, RunFailed, RunWaitingHuman
from skills_runtime.projections import Call, RunView


def asking(call: Call, view: RunView, locator: str) -> RunWaitingHuman:
    """A call waits for somebody."""
    what = "an approval" if view.pending.approvals.of_call(call.id) is not None else "an answer"
    return RunWaitingHuman(
        message=f"`{call.tool}` waits for {what}", tool=call.tool, call_id=call.id, wal_locator=locator
    )


def over(reached: LimitReached, on_limit: OnLimit, locator: str) -> RunFailed | RunWaitingHuman:
    """A limit is reached: the run has failed, or waits for somebody to give it more."""
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
    """Something went wrong that has a name."""
    return RunFailed(
        error_kind=error.kind,
        message=error.message,
        retryable=isinstance(error, ModelError) and error.retryable,
        details={"hint": error.hint} if error.hint else {},
        wal_locator=locator,
    )


def stopped(locator: str) -> RunWaitingHuman:
    """Somebody stopped the work, which can go on."""
    return RunWaitingHuman(message="stopped", error_kind="stopped", wal_locator=locator)


def interrupted(view: RunView, broken: str, locator: str) -> RunCancelled | RunFailed:
    """Somebody stopped the work for good: who wanted that, or who could not say whether they did."""
    if broken:
        return RunFailed(error_kind="unknown", message=broken, wal_locator=locator)
    return RunCancelled(message=view.pending.cancelled or "cancelled", wal_locator=locator)
