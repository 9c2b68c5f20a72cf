"""A run for those who only want the answer: nothing is shown unless something went wrong."""

import sys
from pathlib import Path

from skills_runtime.cli.errors import say
from skills_runtime.cli.execution import Ending
from skills_runtime.cli.locate import short_id
from skills_runtime.cli.render.text import one_line
from skills_runtime.cli.waits import command_for, waits_of
from skills_runtime.events import Event
from skills_runtime.projections import RunState
from skills_runtime.projections.skill_notes import is_skill_notice, skill_note


class QuietView:
    """Says next to nothing while a run works."""

    def __init__(self, program: str = "skills-runtime") -> None:
        self._program = program

    def begin(self, root: Path, state: RunState) -> None:
        """Nothing yet."""

    def take(self, event: Event) -> None:
        """Say what was asked for and is not there."""
        if is_skill_notice(event.payload):
            sys.stderr.write(f"notice: {one_line(skill_note(event.payload))}\n")

    def stopping(self) -> None:
        """Nothing yet."""

    def hold(self) -> None:
        """Nothing to keep back."""

    def release(self) -> None:
        """Nothing was kept back."""

    def end(self, ending: Ending) -> None:
        """Say why there is no answer."""
        state = ending.state
        if ending.trouble:
            say(ending.trouble.message, kind=ending.trouble.kind, hint=ending.trouble.hint)
        elif state.open:
            self._say_what_it_waits_for(ending)
        elif ending.exit_code:
            kind = state.error_kind or str(state.status)
            say(f"the run `{state.run_id}` is {state.status}: {state.failure_reason}", kind=kind, hint="")

    def close(self) -> None:
        """Nothing to give back."""

    def _say_what_it_waits_for(self, ending: Ending) -> None:
        state, command = ending.state, command_for(self._program, short_id(ending.state.run_id))
        waits = [] if ending.stopped else waits_of(state, ending.pending, command)
        what = "; ".join(wait.what for wait in waits) or state.waiting_message or "it was stopped"
        kind = state.waiting_kind or ("stopped" if ending.stopped else str(state.status))
        hint = "; ".join(wait.in_words() for wait in waits) or f"`{command('runs resume')}`"
        say(f"the run `{state.run_id}` waits: {what}", kind=kind, hint=hint)
