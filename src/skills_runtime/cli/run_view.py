"""How a run is shown while it works, and how it ended: for people, for those who want the answer only, for programs."""

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from skills_runtime.cli.errors import say
from skills_runtime.cli.event_text import Step, Steps, note_of, step_lines
from skills_runtime.cli.interrupts import exit_code_of
from skills_runtime.cli.options import ViewOptions
from skills_runtime.cli.output import Sign, cut, labelled, room_beside, sign_of, spread, talk
from skills_runtime.cli.runs_view import show_verdict
from skills_runtime.cli.state import shown_path
from skills_runtime.cli.text import between, count, duration, money, plural, short_id
from skills_runtime.cli.waits import CommandFor, command_for, wait_lines, waits_of
from skills_runtime.clock import SystemClock
from skills_runtime.errors import EXIT_CODES, StorageFailed
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
from skills_runtime.events.states import RunStatus
from skills_runtime.ports import Clock
from skills_runtime.projections import Pending, RunState
from skills_runtime.render import is_skill_notice, skill_note
from skills_runtime.runs import RunPaths, Verdict
from skills_runtime.text import readable_line

_EXIT: Mapping[RunStatus, int] = MappingProxyType(
    {
        RunStatus.COMPLETED: 0,
        RunStatus.CANCELLED: EXIT_CODES["cancelled"],
        RunStatus.WAITING_FOR_TOOL: EXIT_CODES["human_required"],
        RunStatus.WAITING_FOR_USER: EXIT_CODES["human_required"],
        RunStatus.REVIEW_REQUIRED: EXIT_CODES["human_required"],
        RunStatus.REVISION_REQUIRED: EXIT_CODES["human_required"],
    }
)
_INDENT, _LABEL = 7, 5
_TROUBLED = Sign("✗", "stopped", "red")
TITLE_CELLS = 60
_REFRESH_PER_SECOND = 8
_ECHO_CELLS = 3
"""Room at the end of a line that is rewritten: terminals echo `^C` there, and a wrapped line cannot be taken back."""
_NOTE_INDENT = 5
_CHUNK = 1 << 20
_PLACES = {
    "deliverables/report.md": "what was asked for",
    "events.jsonl": "everything that happened, sealed line by line",
    "transcript.md": "the same as prose",
    "run.json": "the state of the run",
    "artifact-manifest.json": "what it made and read, with digests",
}


@dataclass(frozen=True, slots=True)
class Ending:
    """How it ended; `trouble` is what kept the run from going on when its own log could not tell."""

    root: Path
    state: RunState
    trouble: StorageFailed | None = None
    pending: Pending = field(default_factory=Pending)
    """What the run waits for."""
    signal: int | None = None
    """The signal that somebody stopped the work with."""
    proposed: str = ""
    """The answer that waits for review."""

    @property
    def answer(self) -> str:
        """What the run says: its result, or the one that somebody should look at."""
        return self.proposed if self.state.status is RunStatus.REVIEW_REQUIRED else self.state.final_output

    @property
    def stopped(self) -> bool:
        """Whether a signal, and nothing else, is why the run does not go on."""
        return self.signal is not None and self.state.open and self.state.waiting_kind in (None, "stopped")

    @property
    def exit_code(self) -> int:
        """What the process reports."""
        if self.trouble:
            return self.trouble.exit_code
        return exit_code_of(self.signal) if self.stopped and self.signal else exit_code_for(self.state.status)


def exit_code_for(status: RunStatus) -> int:
    """What a process reports that leaves a run in this state."""
    return _EXIT.get(status, 1)


class View(Protocol):
    """Shows a run while it works."""

    def begin(self, root: Path, run_id: str) -> None:
        """The run exists."""
        ...

    def take(self, event: Event) -> None:
        """Something happened."""
        ...

    def stopping(self) -> None:
        """Somebody wants the run to stop."""
        ...

    def hold(self) -> None:
        """Write nothing until `release`: somebody is being asked."""
        ...

    def release(self) -> None:
        """Go on, with what was held back first."""
        ...

    def end(self, ending: "Ending") -> None:
        """The run is over, or waits."""
        ...

    def close(self) -> None:
        """Leave the terminal as it was; harmless when repeated."""
        ...


def show_ending(console: Console, ending: Ending, steps: int, *, program: str, hint: str) -> None:
    """What came of a run, what it took, and where to look."""
    command = command_for(program, short_id(ending.state.run_id))
    result, numbers = _result(ending, command), Text(used(ending.state, steps), style="dim")
    if result.cell_len <= room_beside(console, numbers):
        console.print(spread(console, result, numbers))
    else:
        console.print(result)
        console.print(Text(" " * _INDENT).append_text(numbers))
    facts = {"hint": hint} if hint else {}
    facts |= {"hint": readable_line(ending.trouble.hint)} if ending.trouble else {}
    waits = [] if ending.stopped else waits_of(ending.state, ending.pending, command)
    width = max([_LABEL, *(len(label) for wait in waits for label in wait.commands)])
    for wait in waits:
        console.print(Group(*wait_lines(wait, indent=_INDENT, width=width, titled=len(waits) > 1)))
    facts |= {"files": shown_path(ending.root), "show": command("runs show")}
    console.print(labelled(facts, indent=_INDENT, width=width))


def used(state: RunState, steps: int = 0) -> str:
    """Steps, those seen or those counted by the log, time, tokens, and money where prices are known."""
    elapsed = between(state.started_at, state.completed_at or state.updated_at)
    tokens = state.input_tokens + state.output_tokens + state.child_tokens
    cost = state.cost_usd + state.child_cost_usd
    paid = [money(cost)] if cost else []
    return " · ".join(
        [plural(max(steps, state.tool_calls), "step"), duration(elapsed), f"{count(tokens)} tokens", *paid]
    )


def why_waiting(ending: Ending, command: CommandFor) -> str:
    """What a run that has not ended waits for, in one line."""
    waits = waits_of(ending.state, ending.pending, command)
    return readable_line("; ".join(wait.what for wait in waits) or ending.state.waiting_message)


def _result(ending: Ending, command: CommandFor) -> Text:
    state = ending.state
    if ending.stopped and not ending.trouble:
        return Text.assemble((" stopped", "bold cyan"), f"; go on with: {command('runs resume')}")
    sign = _TROUBLED if ending.trouble else sign_of(state.status, state.waiting_kind)
    word = "done" if state.status == "completed" else sign.word
    return Text.assemble((f" {word}", f"bold {sign.style}"), f"  {_reason(ending, command)}")


def _reason(ending: Ending, command: CommandFor) -> str:
    state = ending.state
    if ending.trouble:
        return readable_line(ending.trouble.message)
    if state.status == "completed":
        return plural(len(state.artifacts), "deliverable")
    reason = readable_line(state.failure_reason or "") or why_waiting(ending, command)
    return f"exit code {ending.exit_code}" if reason == state.status == "cancelled" else reason


@dataclass(frozen=True, slots=True)
class Heading:
    """What the first line says besides the id."""

    title: str
    model: str
    sandbox: str
    history: str = ""
    """What of its session the run knows."""


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

    def begin(self, root: Path, run_id: str) -> None:
        """Write the first line."""
        heading = self._heading
        rest = Text(f" · {readable_line(heading.model)} · sandbox {heading.sandbox}", style="dim")
        line = Text.assemble(("run ", "bold"), (short_id(run_id), "bold cyan"), "  ")
        room = self._console.width - line.cell_len - rest.cell_len if self._console.is_terminal else TITLE_CELLS
        line.append(cut(readable_line(heading.title), min(max(room, 16), TITLE_CELLS)))
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
                self._now(f"{readable_line(model)} is answering")
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
                self._now(f"{readable_line(tool)} waits for you")
            case ApprovalDecided(reason="provider", arguments_blob=None) if self._asked_here:
                pass  # who has just typed it knows
            case RunFailed(details=details):
                self._hint = readable_line(str(details.get("hint") or ""))
            case HumanRequest() if self._asked_here:
                self._now("waits for you")
            case payload if is_skill_notice(payload):
                self._write(Text(f"notice: {readable_line(skill_note(payload))}", style="yellow"))
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


class QuietView:
    """Says next to nothing while a run works."""

    def __init__(self, program: str = "skills-runtime") -> None:
        self._program = program

    def begin(self, root: Path, run_id: str) -> None:
        """Nothing yet."""

    def take(self, event: Event) -> None:
        """Say what was asked for and is not there."""
        if is_skill_notice(event.payload):
            sys.stderr.write(f"notice: {readable_line(skill_note(event.payload))}\n")

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


class LogView:
    """Copies the complete lines of a log to a stream as the log grows."""

    def __init__(self, output: BinaryIO) -> None:
        self._output = output
        self._fd = -1
        self._offset = 0

    def begin(self, root: Path, run_id: str) -> None:
        """Write what is there already."""
        self._fd = os.open(RunPaths(root).events, os.O_RDONLY | os.O_CLOEXEC)
        self._copy()

    def take(self, event: Event) -> None:
        """Write what has come."""
        self._copy()

    def stopping(self) -> None:
        """The log will tell."""

    def hold(self) -> None:
        """Nobody is asked."""

    def release(self) -> None:
        """Nobody was asked."""

    def end(self, ending: Ending) -> None:
        """Write the rest; only what the log cannot tell is said elsewhere."""
        self._copy()
        if ending.trouble:
            say(ending.trouble.message, kind=ending.trouble.kind, hint=ending.trouble.hint)

    def close(self) -> None:
        """Let go of the log."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _copy(self) -> None:
        pieces: list[bytes] = []
        offset = self._offset
        while chunk := os.pread(self._fd, _CHUNK, offset):
            offset += len(chunk)
            pieces.append(chunk)
        data = b"".join(pieces)
        complete = data[: data.rfind(b"\n") + 1]
        if complete:
            self._offset += len(complete)
            self._output.write(complete)
            self._output.flush()


def view_of(
    options: ViewOptions, heading: Heading, notices: Iterable[str], program: str, *, asked_here: bool = False
) -> View:
    """The view somebody asked for; people are told first what they should know."""
    if options.json:
        return LogView(sys.stdout.buffer)
    if options.quiet:
        return QuietView(program)
    console = talk(no_color=options.no_color)
    for notice in notices:
        console.print(Text(f"notice: {readable_line(notice)}", style="dim"))
    return HumanView(console, heading, program=program, clock=SystemClock(), asked_here=asked_here)


def show_tour(root: Path, verdict: Verdict, *, program: str, no_color: bool) -> None:
    """Lead through the directory of a finished run."""
    console = talk(no_color=no_color)
    console.print()
    console.print(Text(shown_path(root), style="bold"))
    console.print(labelled(_PLACES, indent=2, width=0))
    show_verdict(verdict, console)
    console.print()
    console.print(Text("try next", style="bold"))
    name = short_id(root.name)
    for command in (f"runs show {name}", f"transcript {name}", f"verify {name}", "runs list"):
        console.print(Text(f"  {program} {command}"))
