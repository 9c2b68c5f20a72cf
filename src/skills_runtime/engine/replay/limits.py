"""What a recorded run was allowed: somebody may have given it more while it went on, and its settings do not tell."""

from collections.abc import Iterable

import msgspec

from skills_runtime.agent.budget import Budget
from skills_runtime.events import Event
from skills_runtime.events.payloads import BudgetIncreased, RunWaitingHuman


def with_what_was_given(limits: Budget, events: Iterable[Event], *, settled: int) -> Budget:
    """The limits of the settings, and what people gave the run besides, of which it has used `settled` calls."""
    given, parked = 0, False
    for event in events:
        match event.payload:
            case BudgetIncreased(extra_steps=more):
                given += more
            case RunWaitingHuman(error_kind="budget_exceeded"):
                parked = True
            case _:
                pass
    used = settled if parked else 0  # one that has waited at a limit went on with another
    calls = limits.max_tool_calls
    return msgspec.structs.replace(
        limits,
        max_steps=max(limits.max_steps + given, used),
        max_tool_calls=max(calls, used) if calls is not None else None,
    )
