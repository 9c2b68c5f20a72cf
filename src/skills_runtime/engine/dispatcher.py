"""The seam between those who ask for runs and those who execute them."""

from typing import Protocol

from skills_runtime.agent import RunResult
from skills_runtime.runs import Run


class Dispatcher(Protocol):
    """Executes runs somewhere, some time; callers never start a run in any other way."""

    async def submit(self, run: Run) -> None:
        """Take over an open run; it is executed when a slot is free."""
        ...

    async def result(self, run_id: str) -> RunResult:
        """Wait for a submitted run to end or park."""
        ...

    async def cancel(self, run_id: str) -> None:
        """Stop a run; returns when it has stopped."""
        ...

    async def stop(self, run_id: str) -> None:
        """Stop the work on a run without ending it; it can be resumed."""
        ...

    async def nudge(self, run_id: str) -> None:
        """Tell whoever executes a run to look into its inbox now."""
        ...

    async def drain(self) -> None:
        """Take no more runs and wait for those under way."""
        ...
