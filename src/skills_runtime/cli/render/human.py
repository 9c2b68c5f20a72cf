"""A run for people: one line for each step, updated in place on a terminal and appended elsewhere."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.text import Text

from skills_runtime.cli.execution import Ending, Plan
from skills_runtime.cli.locate import short_id
from skills_runtime.cli.planning import model_name
from skills_runtime.cli.render.console import cut, spread, talk
from skills_runtime.cli.render.ending import show_ending
from skills_runtime.cli.render.steps import Step, Steps, step_lines
from skills_runtime.cli.render.text import count, duration, one_line, plural
from skills_runtime.cli.render.told import note_of
from skills_runtime.clock import SystemClock
from skills_runtime.events import Event
from skills_runtime.events.payloads import (
    ApprovalDecided,
    ApprovalRequested,
    HumanRequest,
    LlmRequestStarted,
    LlmResponseDelta,
    LlmResponseFinished,
    RunFailed,
    ToolCallFinished,
    ToolCallRequested,
    ToolCallStarted,
)
from skills_runtime.ledger import title_of
from skills_runtime.ports import Clock
from skills_runtime.projections import RunState
from skills_runtime.projections.skill_notes import is_skill_notice, skill_note

TITLE_CELLS = 60
_REFRESH_PER_SECOND = 8
_ECHO_CELLS = 3
"""Room at the end of a line that is rewritten: terminals echo `^C` there, and a wrapped line cannot be taken back."""
_NOTE_INDENT = 5


@dataclass(frozen=True, slots=True)
class Heading:
    """What the first line says besides the id."""

    title: str
    model: str
    sandbox: str
    history: str = ""
    """What of its session the run knows."""


def human_view(
    plan: Plan, notices: Iterable[str], *, program: str, no_color: bool, asked_here: bool = False
) -> "HumanView":
    """The view of a run that is about to start; says what its user should know first."""
    console = talk(no_color=no_color)
    for notice in notices:
        console.print(Text(f"notice: {one_line(notice)}", style="dim"))
    heading = Heading(
        title=title_of(plan.request.prompt),
        model=model_name(plan.resolved),
        sandbox=plan.resolved.settings.sandbox.workspace,
        history=plural(len(plan.request.history_runs), "earlier run") if plan.request.history_runs else "",
    )
    return HumanView(console, heading, program=program, clock=SystemClock(), asked_here=asked_here)


class HumanView:
    """Shows a run as it works; `asked_here` when questions are asked at this very terminal."""

    def __init__(
        self, console: Console, heading: Heading, *, program: str, clock: Clock, asked_here: bool = False
    ) -> None:
        self._console = console
        self._heading = heading
        self._program = program
        self._clock = clock
        self._asked_here = asked_here
        self._steps = Steps()
        self._activity, self._since = "starting", clock.monotonic()
        self._thought = 0
        self._hint = ""
        self._live: Live | None = None
        self._held: list[Text] | None = None

    def begin(self, root: Path, state: RunState) -> None:
        """Write the first line."""
        heading = self._heading
        rest = Text(f" · {one_line(heading.model)} · sandbox {heading.sandbox}", style="dim")
        line = Text.assemble(("run ", "bold"), (short_id(state.run_id), "bold cyan"), "  ")
        room = self._console.width - line.cell_len - rest.cell_len if self._console.is_terminal else TITLE_CELLS
        line.append(cut(one_line(heading.title), min(max(room, 16), TITLE_CELLS)))
        self._write(line.append_text(rest))
        if heading.history:
            self._note(f"session  knows of {heading.history}")
        self._go_live()

    def take(self, event: Event) -> None:
        """Follow what happens."""
        self._steps.apply(event)
        match event.payload:
            case LlmRequestStarted(model=model):
                self._thought = 0
                self._now(f"{one_line(model)} is answering")
            case LlmResponseDelta(delta_type="reasoning", text=text):
                self._thought += len(text)
                self._now(f"thinking · {count(self._thought)} characters", again=True)
            case LlmResponseFinished() if self._thought:
                self._note(f"thought  {count(self._thought)} characters")
            case ToolCallRequested(call_id=call_id) | ToolCallStarted(call_id=call_id):
                step = self._steps.of_call(call_id)
                self._now(f"{step.tool} {step.subject}" if step else "working")
            case ToolCallFinished(call_id=call_id):
                self._finish(self._steps.of_call(call_id))
            case _:
                self._take_rest(event)

    def _take_rest(self, event: Event) -> None:
        match event.payload:
            case ApprovalRequested(tool=tool) if self._asked_here:
                self._now(f"{one_line(tool)} waits for you")
            case ApprovalDecided(reason="provider", arguments_blob=None) if self._asked_here:
                pass  # who has just typed it knows
            case RunFailed(details=details):
                self._hint = one_line(str(details.get("hint") or ""))
            case HumanRequest() if self._asked_here:
                self._now("waits for you")
            case payload if is_skill_notice(payload):
                self._write(Text(f"notice: {one_line(skill_note(payload))}", style="yellow"))
            case _:
                note = note_of(event)
                if note is not None:
                    self._note(note)

    def stopping(self) -> None:
        """Say that Ctrl-C was heard."""
        self._note("stopping; Ctrl-C again leaves at once")
        self._now("stopping")

    def hold(self) -> None:
        """Keep lines back: somebody is being asked."""
        self._stop_live()
        self._held = []

    def release(self) -> None:
        """Write what was kept back, and go on."""
        held, self._held = self._held or [], None
        for line in held:
            self._console.print(line)
        self._now("working")
        self._go_live()

    def end(self, ending: Ending) -> None:
        """Write the last lines: what came of it, and where to look."""
        self.close()
        show_ending(self._console, ending, len(self._steps.all), program=self._program, hint=self._hint)

    def close(self) -> None:
        """Give the terminal back."""
        self._stop_live()

    def _go_live(self) -> None:
        if self._console.is_interactive:
            self._live = Live(
                get_renderable=self._doing,
                console=self._console,
                refresh_per_second=_REFRESH_PER_SECOND,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()

    def _stop_live(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _write(self, line: Text) -> None:
        if self._held is None:
            self._console.print(line)
        else:
            self._held.append(line)

    def _note(self, text: str) -> None:
        """One dim line between the steps."""
        room = self._console.width - _NOTE_INDENT if self._console.is_terminal else len(text) * 2
        self._write(Text(f"{'':{_NOTE_INDENT}}{cut(text, room)}", style="dim"))

    def _now(self, activity: str, *, again: bool = False) -> None:
        """What the run is at; `again` when it is still the same, only further."""
        self._activity = activity
        if not again:
            self._since = self._clock.monotonic()

    def _doing(self) -> Text:
        elapsed = (self._clock.monotonic() - self._since) * 1000
        left = Text(f"  …  {self._activity}", style="dim")
        line = spread(self._console, left, Text(duration(elapsed) + " " * _ECHO_CELLS, style="dim"))
        line.right_crop(_ECHO_CELLS)
        return line

    def _finish(self, step: Step | None) -> None:
        if step is not None:
            for line in step_lines(self._console, step):
                self._write(line)
        self._now("thinking")
