"""What people and programs see of a run while it executes and when it ends."""

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from skills_runtime.cli.language import translate, translate_error, translate_label, translate_phrase
from skills_runtime.cli.options import ViewOptions, display_path
from skills_runtime.cli.output import (
    StatusStyle,
    available_width,
    counted,
    format_cost,
    format_count,
    format_duration,
    get_status_style,
    justify_line,
    labeled_table,
    milliseconds_between,
    notice_line,
    short_id,
    stderr_console,
    truncate,
    write_notices,
)
from skills_runtime.cli.program import exit_code_for_signal, write_error
from skills_runtime.cli.run_text import (
    CommandFor,
    Step,
    Steps,
    describe_progress,
    exit_code_for,
    list_waits,
    step_lines,
    wait_lines,
)
from skills_runtime.cli.text_stream import TextStream
from skills_runtime.clock import SystemClock
from skills_runtime.engine import RecordedRun
from skills_runtime.errors import StorageFailed
from skills_runtime.events import (
    ApprovalDecided,
    ApprovalRequested,
    Event,
    HumanRequest,
    LlmRequestStarted,
    LlmResponseDelta,
    LlmResponseFinished,
    RunFailed,
    RunStatus,
    ToolCallFinished,
    ToolCallRequested,
    ToolCallStarted,
)
from skills_runtime.ports import Clock
from skills_runtime.projections import Call, Pending, RunState
from skills_runtime.render import is_skill_notice, skill_note
from skills_runtime.runs import RunPaths
from skills_runtime.storage import open_regular
from skills_runtime.text import readable_line

_INDENT, _LABEL = 7, 5
TITLE_CELLS = 60
_REFRESH_PER_SECOND = 12
_ECHO_CELLS = 3
"""Cells left free at the end of the live line: terminals echo `^C` there, and a wrapped line cannot be erased."""
_NOTE_INDENT = 5
_MAX_REASONING_CHARS = 400
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The state of a run when this process leaves it.

    `storage_error` is set when the run stopped because its log could not be written.
    """

    root: Path
    state: RunState
    storage_error: StorageFailed | None = None
    pending: Pending = field(default_factory=Pending)
    """What the run waits for."""
    signal: int | None = None
    """The signal that stopped the run."""
    proposed: str = ""
    """The answer that is waiting for review."""
    is_answer_shown: bool = False
    """Whether the answer was shown while it arrived."""

    @property
    def answer(self) -> str:
        """Return the result of the run, or the one that is waiting for review."""
        return self.proposed if self.state.status is RunStatus.REVIEW_REQUIRED else self.state.final_output

    @property
    def is_stopped(self) -> bool:
        """Return whether a signal is the only reason why the run stopped."""
        return self.signal is not None and self.state.open and self.state.waiting_kind in (None, "stopped")

    @property
    def exit_code(self) -> int:
        """Return the exit code of the process."""
        if self.storage_error:
            return self.storage_error.exit_code
        return (
            exit_code_for_signal(self.signal) if self.is_stopped and self.signal else exit_code_for(self.state.status)
        )


class View:
    """Show a run while it executes; this base class shows nothing."""

    def start(self, root: Path, run_id: str) -> None:
        """Show that the run exists."""

    def add_open_calls(self, calls: Iterable[Call]) -> None:
        """Add the calls that a resumed run has not finished."""

    def show_event(self, event: Event) -> None:
        """Show an event."""

    def has_shown(self, answer: str) -> bool:
        """Return whether this text was the last that the model wrote, and was shown."""
        return False

    def show_stopping(self) -> None:
        """Show that the run was asked to stop."""

    def pause(self) -> None:
        """Write nothing until `resume`: a question is being asked."""

    def resume(self) -> None:
        """Write the held lines and continue."""

    def finish(self, ending: RunOutcome) -> None:
        """Show that the run has finished or waits."""

    def close(self) -> None:
        """Restore the terminal; may be called more than once."""


def show_outcome(console: Console, ending: RunOutcome, steps: int, *, program: str, hint: str) -> None:
    """Print the result of a run, its usage, and the next commands."""
    command = CommandFor(program, short_id(ending.state.run_id))
    result, numbers = _format_result(ending, command), Text(format_usage(ending.state, steps), style="dim")
    if result.cell_len <= available_width(console, numbers):
        console.print(justify_line(console, result, numbers))
    else:
        console.print(result)
        console.print(Text(" " * _INDENT).append_text(numbers))
    facts = {"hint": hint} if hint else {}
    facts |= {"hint": readable_line(ending.storage_error.hint)} if ending.storage_error else {}
    waits = [] if ending.is_stopped else list_waits(ending.state, ending.pending, command)
    width = max([_LABEL, *(cell_len(translate_label(label)) for wait in waits for label in wait.commands)])
    for wait in waits:
        console.print(Group(*wait_lines(wait, indent=_INDENT, width=width, with_title=len(waits) > 1)))
    if aside := RecordedRun(RunPaths(ending.root)).list_quarantined():
        facts["quarantined"] = translate(
            "outcome.quarantined",
            "{files} that programs would execute, such as {path}",
            files=counted(len(aside), "new file"),
            path=display_path(Path(aside[0])),
        )
        facts["restore"] = command("runs accept")
    facts |= {"files": display_path(ending.root), "show": command("runs show")}
    labels = {translate_label(label): fact for label, fact in facts.items()}
    console.print(labeled_table(labels, indent=_INDENT, width=width))


def format_usage(state: RunState, steps: int = 0) -> str:
    """Format steps, time, tokens and, where it is known, cost."""
    elapsed = milliseconds_between(state.started_at, state.completed_at or state.updated_at)
    tokens = state.input_tokens + state.output_tokens + state.child_tokens
    cost = state.total_cost_usd
    paid = [format_cost(cost)] if cost is not None else []
    return " · ".join(
        [
            counted(max(steps, state.tool_calls), "step"),
            format_duration(elapsed),
            translate("usage.tokens", "{count} tokens", count=format_count(tokens)),
            *paid,
        ]
    )


def _format_result(ending: RunOutcome, command: CommandFor) -> Text:
    """Format the final status and its reason."""
    state, trouble = ending.state, ending.storage_error
    if ending.is_stopped and not trouble:
        resume = translate("outcome.resume", "; resume with: {command}", command=command("runs resume"))
        return Text.assemble((f" {_stopped()}", "bold cyan"), resume)
    sign = StatusStyle("✗", _stopped(), "red") if trouble else get_status_style(state.status, state.waiting_kind)
    status_text = translate("outcome.done", "done") if state.status == "completed" else sign.text
    if trouble:
        reason = readable_line(trouble.message)
    elif state.status == "completed":
        reason = counted(len(state.artifacts), "deliverable")
    else:
        waits = "; ".join(wait.description for wait in list_waits(state, ending.pending, command))
        reason = readable_line(state.failure_reason or "") or readable_line(waits or state.waiting_message)
        if reason == state.status == "cancelled":
            reason = translate("outcome.exit", "exit code {code}", code=str(ending.exit_code))
        elif state.failure_reason and (meaning := translate_error(state.error_kind or "", {})):
            reason = translate("outcome.reason", "{meaning}: {reason}", meaning=meaning, reason=reason)
    return Text.assemble((f" {status_text}", f"bold {sign.style}"), f"  {reason}")


def _stopped() -> str:
    return translate("outcome.stopped", "stopped")


@dataclass(frozen=True, slots=True)
class Heading:
    """What the first line shows besides the id."""

    title: str
    model: str
    workspace: str
    history: str = ""
    """How much of its session the run has loaded."""


class HumanView(View):
    """Show a run to a person; `is_interactive` when questions are asked at this terminal.

    On a terminal, the words of the model and the first lines of what tools print are shown as they arrive. The last
    words are the answer: they are left to stdout unless `shows_answer`.
    """

    def __init__(
        self,
        console: Console,
        heading: Heading,
        *,
        program: str,
        clock: Clock,
        is_interactive: bool = False,
        shows_answer: bool = False,
    ) -> None:
        self._console = console
        self._heading = heading
        self._program = program
        self._clock = clock
        self._asked_here = is_interactive
        self._streams = console.is_terminal and shows_answer
        self._steps = Steps()
        self._words = ""
        self._stream = TextStream(console)
        self._activity, self._activity_start = translate("activity.starting", "starting"), clock.monotonic()
        self._reasoning = ""
        self._hint = ""
        self._live: Live | None = None
        self._held_lines: list[Text] | None = None

    def start(self, root: Path, run_id: str) -> None:
        """Write the first line."""
        heading = self._heading
        workspace = translate("heading.workspace", "{workspace} workspace", workspace=heading.workspace)
        details = Text(f" · {readable_line(heading.model)} · {workspace}", style="dim")
        line = Text.assemble((translate("heading.run", "run "), "bold"), (short_id(run_id), "bold cyan"), "  ")
        width = self._console.width - line.cell_len - details.cell_len if self._console.is_terminal else TITLE_CELLS
        line.append(truncate(readable_line(heading.title), min(max(width, 16), TITLE_CELLS)))
        self._write(line.append_text(details))
        if heading.history:
            self._write_note(translate("heading.session", "session  loaded {history}", history=heading.history))
        self._start_live()

    def add_open_calls(self, calls: Iterable[Call]) -> None:
        """Remember the arguments of calls that were requested before the run was resumed."""
        for call in calls:
            self._steps.add_open_call(call)

    def show_event(self, event: Event) -> None:
        """Show an event as words, a step, a note or the current activity."""
        self._steps.apply(event)
        match event.payload:
            case LlmRequestStarted(model=model):
                self._finish_words()
                self._words = self._reasoning = ""
                name = readable_line(model)
                self._set_activity(translate("activity.answering", "{model} is answering", model=name))
            case LlmResponseDelta(delta_type="reasoning", text=text):
                self._reasoning += text[: _MAX_REASONING_CHARS - len(self._reasoning)]
                self._set_activity(f"{_thinking()} · {readable_line(self._reasoning)}", keep_timer=True)
            case LlmResponseDelta(delta_type="text", text=text):
                self._show_words(text)
            case LlmResponseFinished(calls=calls):
                self._finish_answer(is_final=not calls)
            case ToolCallRequested(call_id=call_id) | ToolCallStarted(call_id=call_id):
                step = self._steps.find(call_id)
                self._set_activity(f"{step.tool} {step.subject}" if step else _working())
            case ToolCallFinished(call_id=call_id):
                self._finish(self._steps.find(call_id))
            case _:
                self._show_other_event(event)

    def _show_other_event(self, event: Event) -> None:
        match event.payload:
            case ApprovalRequested(tool=tool) if self._asked_here:
                name = readable_line(tool)
                self._set_activity(translate("activity.call_waits", "{tool} is waiting for you", tool=name))
            case ApprovalDecided(reason="provider", arguments_blob=None) if self._asked_here:
                pass  # just typed at this terminal
            case RunFailed(details=details):
                self._hint = readable_line(str(details.get("hint") or ""))
            case HumanRequest() if self._asked_here:
                self._set_activity(translate("step.waiting", "waiting for you"))
            case payload if is_skill_notice(payload):
                self._write(Text(notice_line(readable_line(translate_phrase(skill_note(payload)))), style="yellow"))
            case _:
                note = describe_progress(event)
                if note is not None:
                    self._write_note(note)

    def _show_words(self, text: str) -> None:
        """Show a piece of the model's answer, with the reasoning that led to it first."""
        self._note_reasoning()
        self._words += text
        if self._streams:
            self._write_rows(self._stream.feed(text))

    def _finish_answer(self, *, is_final: bool) -> None:
        """Complete an answer of the model; the last one is left to stdout unless it was streamed."""
        self._note_reasoning()
        if self._streams:
            self._finish_words()
        elif self._console.is_terminal and not is_final:
            self._write_rows([*self._stream.feed(self._words.strip("\n")), *self._stream.flush()])

    def _finish_words(self) -> None:
        self._write_rows(self._stream.flush())

    def _write_rows(self, rows: Iterable[str]) -> None:
        for row in rows:
            self._write(Text(row))

    def _note_reasoning(self) -> None:
        if preview := readable_line(self._reasoning):
            self._write_note(translate("note.thought", "thought  {text}", text=preview))
        self._reasoning = ""

    def has_shown(self, answer: str) -> bool:
        """Return whether this text was streamed as the model's last words."""
        return self._streams and bool(answer.strip()) and answer.strip() == self._words.strip()

    def show_stopping(self) -> None:
        """Confirm Ctrl-C."""
        self._finish_words()
        self._write_note(translate("note.stopping", "stopping; press Ctrl-C again to exit at once"))
        self._set_activity(translate("activity.stopping", "stopping"))

    def pause(self) -> None:
        """Hold lines back while a question is being asked."""
        self._finish_words()
        self._stop_live()
        self._held_lines = []

    def resume(self) -> None:
        """Write the held lines and continue."""
        held_lines, self._held_lines = self._held_lines or [], None
        for line in held_lines:
            self._console.print(line)
        self._set_activity(_working())
        self._start_live()

    def finish(self, ending: RunOutcome) -> None:
        """Write the result and the next commands."""
        self.close()
        show_outcome(self._console, ending, len(self._steps.all), program=self._program, hint=self._hint)

    def close(self) -> None:
        """Stop the live display."""
        if self._live is not None:
            self._finish_words()
        self._stop_live()

    def _start_live(self) -> None:
        if self._console.is_interactive:
            self._live = Live(
                get_renderable=self._render_live,
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
        if self._held_lines is None:
            self._console.print(line)
        else:
            self._held_lines.append(line)

    def _write_note(self, text: str) -> None:
        """Write one dim line between the steps."""
        width = self._console.width - _NOTE_INDENT if self._console.is_terminal else len(text) * 2
        self._write(Text(f"{'':{_NOTE_INDENT}}{truncate(text, width)}", style="dim"))

    def _set_activity(self, activity: str, *, keep_timer: bool = False) -> None:
        """Set the current activity; `keep_timer` when it is the same one, further along."""
        self._activity = activity
        if not keep_timer:
            self._activity_start = self._clock.monotonic()

    def _render_live(self) -> RenderableType:
        """Render the row that is being written, and the current activity."""
        activity = self._render_activity()
        partial = self._stream.partial
        return Group(Text(partial), activity) if partial else activity

    def _render_activity(self) -> Text:
        elapsed = (self._clock.monotonic() - self._activity_start) * 1000
        activity = Text(f"  …  {self._activity}", style="dim")
        line = justify_line(self._console, activity, Text(format_duration(elapsed) + " " * _ECHO_CELLS, style="dim"))
        line.right_crop(_ECHO_CELLS)
        return line

    def _finish(self, step: Step | None) -> None:
        if step is not None:
            for line in step_lines(self._console, step, with_output=self._console.is_terminal):
                self._write(line)
        self._set_activity(_thinking())


def _thinking() -> str:
    return translate("activity.thinking", "thinking")


def _working() -> str:
    return translate("activity.working", "working")


class ChatView(HumanView):
    """Show one turn of a chat: the answer and the steps, and only what went wrong at its end."""

    def start(self, root: Path, run_id: str) -> None:
        """Write nothing; the message was just typed."""
        self._start_live()

    def finish(self, ending: RunOutcome) -> None:
        """Write why there is no answer, if there is none, and what the turn waits for."""
        self.close()
        if ending.is_stopped and not ending.storage_error:
            text = translate("chat.stopped", " stopped; your next message continues this turn")
            self._console.print(Text(text, style="bold cyan"))
        elif ending.exit_code:
            show_outcome(self._console, ending, len(self._steps.all), program=self._program, hint=self._hint)


class QuietView(View):
    """Show only notices and the reason for a missing answer."""

    def __init__(self, program: str = "skills-runtime") -> None:
        self._program = program

    def show_event(self, event: Event) -> None:
        """Report requested skills that are not available."""
        if is_skill_notice(event.payload):
            write_notices([translate_phrase(skill_note(event.payload))])

    def finish(self, ending: RunOutcome) -> None:
        """Report why there is no answer."""
        state = ending.state
        if ending.storage_error:
            write_error(ending.storage_error.message, kind=ending.storage_error.kind, hint=ending.storage_error.hint)
        elif state.open:
            self._report_waits(ending)
        elif ending.exit_code:
            kind = state.error_kind or str(state.status)
            message = translate(
                "quiet.failed",
                "the run `{run}` is {status}: ",
                run=state.run_id,
                status=get_status_style(state.status).text,
            )
            write_error(f"{message}{state.failure_reason}", kind=kind, hint="")

    def _report_waits(self, ending: RunOutcome) -> None:
        state, command = ending.state, CommandFor(self._program, short_id(ending.state.run_id))
        waits = [] if ending.is_stopped else list_waits(state, ending.pending, command)
        description = "; ".join(wait.description for wait in waits) or state.waiting_message
        description = description or translate("quiet.stopped", "it was stopped")
        kind = state.waiting_kind or ("stopped" if ending.is_stopped else str(state.status))
        hint = "; ".join(wait.join_commands() for wait in waits) or f"`{command('runs resume')}`"
        message = translate(
            "quiet.waiting", "the run `{run}` is waiting: {description}", run=state.run_id, description=description
        )
        write_error(message, kind=kind, hint=hint)


class LogView(View):
    """Copy the complete lines of a log to a stream as the log grows."""

    def __init__(self, output: BinaryIO) -> None:
        self._output = output
        self._fd = -1
        self._offset = 0

    def start(self, root: Path, run_id: str) -> None:
        """Write the lines that exist."""
        self._fd = open_regular(RunPaths(root).events)
        self._copy()

    def show_event(self, event: Event) -> None:
        """Write the new lines."""
        self._copy()

    def finish(self, ending: RunOutcome) -> None:
        """Write the remaining lines; report an error that the log cannot contain."""
        self._copy()
        if ending.storage_error:
            write_error(ending.storage_error.message, kind=ending.storage_error.kind, hint=ending.storage_error.hint)

    def close(self) -> None:
        """Close the log."""
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


def create_view(
    options: ViewOptions, heading: Heading, notices: Iterable[str], *, program: str, asked_here: bool = False
) -> View:
    """Create the requested view, and print notices first in the one for people."""
    if options.json:
        return LogView(sys.stdout.buffer)
    if options.quiet:
        return QuietView(program)
    console = stderr_console(no_color=options.no_color)
    for notice in notices:
        console.print(Text(notice_line(readable_line(notice)), style="dim"))
    view = ChatView if options.is_chat else HumanView
    return view(
        console,
        heading,
        program=program,
        clock=SystemClock(),
        is_interactive=asked_here,
        shows_answer=sys.stdout.isatty(),
    )
