"""A run for those who only want the answer: nothing is shown unless something went wrong."""

from pathlib import Path

from skills_runtime.cli.edge import say
from skills_runtime.cli.execution import Ending
from skills_runtime.events import Event
from skills_runtime.projections import RunState


class QuietView:
    """Says nothing while a run works."""

    def begin(self, root: Path, state: RunState) -> None:
        """Nothing yet."""

    def take(self, event: Event) -> None:
        """Nothing yet."""

    def stopping(self) -> None:
        """Nothing yet."""

    def end(self, ending: Ending) -> None:
        """Say why there is no answer."""
        state = ending.state
        if ending.trouble:
            say(ending.trouble.message, kind=ending.trouble.kind, hint=ending.trouble.hint)
        elif ending.exit_code:
            kind = state.error_kind or str(state.status)
            say(f"the run `{state.run_id}` is {state.status}: {state.failure_reason}", kind=kind, hint="")

    def close(self) -> None:
        """Nothing to give back."""
