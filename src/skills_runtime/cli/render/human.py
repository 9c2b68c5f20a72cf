"""A run for people: one line for each step, updated in place on a terminal and appended elsewhere."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.text import Text

from skills_runtime.cli.execution import Ending, Plan
from skills_runtime.cli.locate import short_id
from skills_runtime.cli.machine import shown_path
from skills_runtime.cli.planning import model_name
from skills_runtime.cli.render.console import cut, labelled, room_beside, spread, talk
from skills_runtime.cli.render.steps import Step, Steps
from skills_runtime.cli.render.text import between, count, duration, one_line, plural
from skills_runtime.cli.render.words import STATUS, Sign
from skills_runtime.clock import SystemClock
from skills_runtime.events import Event
from skills_runtime.events.payloads import (
    ApprovalRequested,
    LlmRequestStarted,
    RunFailed,
    ToolCallFinished,
    ToolCallRequested,
    ToolCallStarted,
)
from skills_runtime.ledger import title_of
from skills_runtime.ports import Clock
from skills_runtime.projections import RunState

TITLE_CELLS = 60
_REFRESH_PER_SECOND = 8
_ECHO_CELLS = 3
"""Room at the end of a line that is rewritten: terminals echo `^C` there, and a wrapped line cannot be taken back."""
_STOPPED = Sign("✗", "stopped", "red")


@dataclass(frozen=True, slots=True)
class Heading:
    """What the first line says besides the id."""

    title: str
    model: str
    sandbox: str


def human_view(plan: Plan, notices: Iterable[str], *, program: str, no_color: bool) -> "HumanView":
    """The view of a run that is about to start; says what its user should know first."""
    console = talk(no_color=no_color)
    for notice in notices:
        console.print(Text(f"notice: {one_line(notice)}", style="dim"))
    heading = Heading(
        title=title_of(plan.request.prompt),
        model=model_name(plan.resolved),
        sandbox=plan.resolved.settings.sandbox.workspace,
    )
    return HumanView(console, heading, program=program, clock=SystemClock())


class HumanView:
    """Shows a run as it works."""

    def __init__(self, console: Console, heading: Heading, *, program: str, clock: Clock) -> None:
        self._console = console
        self._heading = heading
        self._program = program
        self._clock = clock
        self._steps = Steps()
        self._activity, self._since = "starting", clock.monotonic()
        self._hint = ""
        self._live: Live | None = None

    def begin(self, root: Path, state: RunState) -> None:
        """Write the first line."""
        heading = self._heading
        rest = Text(f" · {one_line(heading.model)} · sandbox {heading.sandbox}", style="dim")
        line = Text.assemble(("run ", "bold"), (short_id(state.run_id), "bold cyan"), "  ")
        room = self._console.width - line.cell_len - rest.cell_len if self._console.is_terminal else TITLE_CELLS
        line.append(cut(one_line(heading.title), min(max(room, 16), TITLE_CELLS)))
        self._console.print(line.append_text(rest))
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

    def take(self, event: Event) -> None:
        """Follow what happens."""
        self._steps.apply(event)
        match event.payload:
            case LlmRequestStarted(model=model):
                self._now(f"{one_line(model)} is answering")
            case ToolCallRequested(call_id=call_id) | ToolCallStarted(call_id=call_id):
                step = self._steps.of_call(call_id)
                self._now(f"{step.tool} {step.subject}" if step else "working")
            case ApprovalRequested(tool=tool):
                self._now(f"{one_line(tool)} waits for you")
            case ToolCallFinished(call_id=call_id):
                self._finish(self._steps.of_call(call_id))
            case RunFailed(details=details):
                self._hint = one_line(str(details.get("hint") or ""))
            case _:
                pass

    def stopping(self) -> None:
        """Say that Ctrl-C was heard."""
        self._console.print(Text("     stopping; Ctrl-C again leaves at once", style="dim"))
        self._now("stopping")

    def end(self, ending: Ending) -> None:
        """Write the last lines: what came of it, and where to look."""
        self.close()
        show_ending(self._console, ending, self._steps, program=self._program, hint=self._hint)

    def close(self) -> None:
        """Give the terminal back."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _now(self, activity: str) -> None:
        self._activity, self._since = activity, self._clock.monotonic()

    def _doing(self) -> Text:
        elapsed = (self._clock.monotonic() - self._since) * 1000
        left = Text(f"  …  {self._activity}", style="dim")
        line = spread(self._console, left, Text(duration(elapsed) + " " * _ECHO_CELLS, style="dim"))
        line.right_crop(_ECHO_CELLS)
        return line

    def _finish(self, step: Step | None) -> None:
        if step is not None:
            for line in step_lines(self._console, step):
                self._console.print(line)
        self._now("thinking")


def step_lines(console: Console, step: Step) -> list[Text]:
    """A step on one line; the reason of a failure on the next."""
    left = Text.assemble((f"{step.number:>3}  ", "dim"), step.tool, f" {step.subject}")
    waiting = {"waiting": "waiting for you", "running": "running"}.get(step.progress, "")
    right = Text.assemble(
        (step.outcome, "red"), (waiting, "cyan"), (f"{duration(step.milliseconds):>9}" if not waiting else "", "dim")
    )
    lines = [spread(console, left, right)]
    if step.reason:
        room = console.width - 5 if console.is_terminal else len(step.reason)
        lines.append(Text(f"     {cut(step.reason, room)}", style="dim"))
    return lines


def show_ending(console: Console, ending: Ending, steps: Steps, *, program: str, hint: str) -> None:
    """How a run ended, in a few lines."""
    state = ending.state
    sign = _STOPPED if ending.trouble else STATUS[state.status]
    word = "done" if state.status == "completed" else sign.word
    elapsed = between(state.started_at, state.completed_at or state.updated_at)
    tokens = state.input_tokens + state.output_tokens
    numbers = Text(f"{plural(len(steps.all), 'step')} · {duration(elapsed)} · {count(tokens)} tokens", style="dim")
    result = Text.assemble((f" {word}", f"bold {sign.style}"), f"  {_result(ending)}")
    if result.cell_len <= room_beside(console, numbers):
        console.print(spread(console, result, numbers))
    else:
        console.print(result)
        console.print(Text("       ").append_text(numbers))
    facts = {"hint": hint} if hint else {}
    facts |= {"hint": one_line(ending.trouble.hint)} if ending.trouble else {}
    facts |= {"files": shown_path(ending.root), "show": f"{program} runs show {short_id(state.run_id)}"}
    console.print(labelled(facts, indent=7, width=5))


def _result(ending: Ending) -> str:
    state = ending.state
    if ending.trouble:
        return one_line(ending.trouble.message)
    if state.status == "completed":
        return plural(len(state.artifacts), "deliverable")
    reason = one_line(state.failure_reason or "")
    return f"stopped, exit code {ending.exit_code}" if reason == state.status == "cancelled" else reason
