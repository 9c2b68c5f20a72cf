"""Execute one run in this process and show its progress; Ctrl-C stops it."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from skills_runtime.agent import describe_models
from skills_runtime.cli.options import Approving, ConfigOptions, ViewOptions, display_path, open_service
from skills_runtime.cli.output import (
    StatusStyle,
    available_width,
    format_cost,
    format_count,
    format_duration,
    get_status_style,
    justify_line,
    labeled_table,
    milliseconds_between,
    plural,
    short_id,
    stderr_console,
    truncate,
    write_answer,
    write_notices,
)
from skills_runtime.cli.program import (
    Interruption,
    Program,
    exit_code_for_signal,
    interrupts,
    report_error,
    write_error,
)
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
from skills_runtime.cli.terminal import InteractionOptions, read_line_sync, resolve_interaction
from skills_runtime.clock import SystemClock
from skills_runtime.config import Resolved
from skills_runtime.engine import RecordedRun, RunRequest, RunService, rule_file_of
from skills_runtime.errors import IllegalTransition, SkillsRuntimeError, StorageFailed
from skills_runtime.events import (
    ApprovalDecided,
    ApprovalRequested,
    Event,
    HistoryLoaded,
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
from skills_runtime.projections import Pending, RunState
from skills_runtime.render import is_skill_notice, skill_note
from skills_runtime.runs import RunPaths
from skills_runtime.storage import open_regular
from skills_runtime.text import make_title, readable_line

CHAT_PROMPT = "you> "
_INDENT, _LABEL = 7, 5
_STORAGE_ERROR = StatusStyle("✗", "stopped", "red")
TITLE_CELLS = 60
_REFRESH_PER_SECOND = 8
_ECHO_CELLS = 3
"""Cells left free at the end of the live line: terminals echo `^C` there, and a wrapped line cannot be erased."""
_NOTE_INDENT = 5
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

    def show_event(self, event: Event) -> None:
        """Show an event."""

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
    width = max([_LABEL, *(len(label) for wait in waits for label in wait.commands)])
    for wait in waits:
        console.print(Group(*wait_lines(wait, indent=_INDENT, width=width, with_title=len(waits) > 1)))
    if aside := RecordedRun(RunPaths(ending.root)).list_quarantined():
        facts["quarantined"] = (
            f"{plural(len(aside), 'new file')} that programs would execute, such as {display_path(Path(aside[0]))}"
        )
        facts["restore"] = command("runs accept")
    facts |= {"files": display_path(ending.root), "show": command("runs show")}
    console.print(labeled_table(facts, indent=_INDENT, width=width))


def format_usage(state: RunState, steps: int = 0) -> str:
    """Format steps, time, tokens and, where it is known, cost."""
    elapsed = milliseconds_between(state.started_at, state.completed_at or state.updated_at)
    tokens = state.input_tokens + state.output_tokens + state.child_tokens
    cost = state.total_cost_usd
    paid = [format_cost(cost)] if cost is not None else []
    return " · ".join(
        [
            plural(max(steps, state.tool_calls), "step"),
            format_duration(elapsed),
            f"{format_count(tokens)} tokens",
            *paid,
        ]
    )


def _format_result(ending: RunOutcome, command: CommandFor) -> Text:
    """Format the final status and its reason."""
    state, trouble = ending.state, ending.storage_error
    if ending.is_stopped and not trouble:
        return Text.assemble((" stopped", "bold cyan"), f"; resume with: {command('runs resume')}")
    sign = _STORAGE_ERROR if trouble else get_status_style(state.status, state.waiting_kind)
    status_text = "done" if state.status == "completed" else sign.text
    if trouble:
        reason = readable_line(trouble.message)
    elif state.status == "completed":
        reason = plural(len(state.artifacts), "deliverable")
    else:
        waits = "; ".join(wait.description for wait in list_waits(state, ending.pending, command))
        reason = readable_line(state.failure_reason or "") or readable_line(waits or state.waiting_message)
        reason = f"exit code {ending.exit_code}" if reason == state.status == "cancelled" else reason
    return Text.assemble((f" {status_text}", f"bold {sign.style}"), f"  {reason}")


@dataclass(frozen=True, slots=True)
class Heading:
    """What the first line shows besides the id."""

    title: str
    model: str
    sandbox: str
    history: str = ""
    """How much of its session the run has loaded."""


class HumanView(View):
    """Show a run to a person; `is_interactive` when questions are asked at this terminal."""

    def __init__(
        self, console: Console, heading: Heading, *, program: str, clock: Clock, is_interactive: bool = False
    ) -> None:
        self._console = console
        self._heading = heading
        self._program = program
        self._clock = clock
        self._asked_here = is_interactive
        self._steps = Steps()
        self._activity, self._activity_start = "starting", clock.monotonic()
        self._reasoning_chars = 0
        self._hint = ""
        self._live: Live | None = None
        self._held_lines: list[Text] | None = None

    def start(self, root: Path, run_id: str) -> None:
        """Write the first line."""
        heading = self._heading
        details = Text(f" · {readable_line(heading.model)} · sandbox {heading.sandbox}", style="dim")
        line = Text.assemble(("run ", "bold"), (short_id(run_id), "bold cyan"), "  ")
        width = self._console.width - line.cell_len - details.cell_len if self._console.is_terminal else TITLE_CELLS
        line.append(truncate(readable_line(heading.title), min(max(width, 16), TITLE_CELLS)))
        self._write(line.append_text(details))
        if heading.history:
            self._write_note(f"session  loaded {heading.history}")
        self._start_live()

    def show_event(self, event: Event) -> None:
        """Show an event as a step, a note or the current activity."""
        self._steps.apply(event)
        match event.payload:
            case LlmRequestStarted(model=model):
                self._reasoning_chars = 0
                self._set_activity(f"{readable_line(model)} is answering")
            case LlmResponseDelta(delta_type="reasoning", text=text):
                self._reasoning_chars += len(text)
                self._set_activity(f"thinking · {format_count(self._reasoning_chars)} characters", keep_timer=True)
            case LlmResponseFinished() if self._reasoning_chars:
                self._write_note(f"thought  {format_count(self._reasoning_chars)} characters")
            case ToolCallRequested(call_id=call_id) | ToolCallStarted(call_id=call_id):
                step = self._steps.find(call_id)
                self._set_activity(f"{step.tool} {step.subject}" if step else "working")
            case ToolCallFinished(call_id=call_id):
                self._finish(self._steps.find(call_id))
            case _:
                self._show_other_event(event)

    def _show_other_event(self, event: Event) -> None:
        match event.payload:
            case ApprovalRequested(tool=tool) if self._asked_here:
                self._set_activity(f"{readable_line(tool)} is waiting for you")
            case ApprovalDecided(reason="provider", arguments_blob=None) if self._asked_here:
                pass  # just typed at this terminal
            case RunFailed(details=details):
                self._hint = readable_line(str(details.get("hint") or ""))
            case HumanRequest() if self._asked_here:
                self._set_activity("waiting for you")
            case payload if is_skill_notice(payload):
                self._write(Text(f"notice: {readable_line(skill_note(payload))}", style="yellow"))
            case _:
                note = describe_progress(event)
                if note is not None:
                    self._write_note(note)

    def show_stopping(self) -> None:
        """Confirm Ctrl-C."""
        self._write_note("stopping; press Ctrl-C again to exit at once")
        self._set_activity("stopping")

    def pause(self) -> None:
        """Hold lines back while a question is being asked."""
        self._stop_live()
        self._held_lines = []

    def resume(self) -> None:
        """Write the held lines and continue."""
        held_lines, self._held_lines = self._held_lines or [], None
        for line in held_lines:
            self._console.print(line)
        self._set_activity("working")
        self._start_live()

    def finish(self, ending: RunOutcome) -> None:
        """Write the result and the next commands."""
        self.close()
        show_outcome(self._console, ending, len(self._steps.all), program=self._program, hint=self._hint)

    def close(self) -> None:
        """Stop the live display."""
        self._stop_live()

    def _start_live(self) -> None:
        if self._console.is_interactive:
            self._live = Live(
                get_renderable=self._render_activity,
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

    def _render_activity(self) -> Text:
        elapsed = (self._clock.monotonic() - self._activity_start) * 1000
        activity = Text(f"  …  {self._activity}", style="dim")
        line = justify_line(self._console, activity, Text(format_duration(elapsed) + " " * _ECHO_CELLS, style="dim"))
        line.right_crop(_ECHO_CELLS)
        return line

    def _finish(self, step: Step | None) -> None:
        if step is not None:
            for line in step_lines(self._console, step):
                self._write(line)
        self._set_activity("thinking")


class QuietView(View):
    """Show only notices and the reason for a missing answer."""

    def __init__(self, program: str = "skills-runtime") -> None:
        self._program = program

    def show_event(self, event: Event) -> None:
        """Report requested skills that are not available."""
        if is_skill_notice(event.payload):
            write_notices([skill_note(event.payload)])

    def finish(self, ending: RunOutcome) -> None:
        """Report why there is no answer."""
        state = ending.state
        if ending.storage_error:
            write_error(ending.storage_error.message, kind=ending.storage_error.kind, hint=ending.storage_error.hint)
        elif state.open:
            self._report_waits(ending)
        elif ending.exit_code:
            kind = state.error_kind or str(state.status)
            write_error(f"the run `{state.run_id}` is {state.status}: {state.failure_reason}", kind=kind, hint="")

    def _report_waits(self, ending: RunOutcome) -> None:
        state, command = ending.state, CommandFor(self._program, short_id(ending.state.run_id))
        waits = [] if ending.is_stopped else list_waits(state, ending.pending, command)
        description = "; ".join(wait.description for wait in waits) or state.waiting_message or "it was stopped"
        kind = state.waiting_kind or ("stopped" if ending.is_stopped else str(state.status))
        hint = "; ".join(wait.join_commands() for wait in waits) or f"`{command('runs resume')}`"
        write_error(f"the run `{state.run_id}` is waiting: {description}", kind=kind, hint=hint)


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
        console.print(Text(f"notice: {readable_line(notice)}", style="dim"))
    return HumanView(console, heading, program=program, clock=SystemClock(), is_interactive=asked_here)


@dataclass(frozen=True, slots=True)
class StartedRun:
    """A run that this process executes; `is_new` when it had not started before."""

    run_id: str
    is_new: bool
    notices: Iterable[str] = ()
    """Notices to print first."""


Start = Callable[[RunService], Awaitable[StartedRun]]
ViewFactory = Callable[[Heading, Iterable[str]], View]


def create_run(
    request: RunRequest,
    resolved: Resolved,
    config: ConfigOptions,
    view: ViewOptions,
    program: Program,
    participants: InteractionOptions,
) -> RunOutcome:
    """Execute a new run until it finishes or waits, and write its answer to stdout."""

    async def start(service: RunService) -> StartedRun:
        created = await service.create(request, resolved=resolved)
        return StartedRun(created.run_id, is_new=True, notices=created.notices)

    return _run_and_show(start, resolved, config, view, program, participants)


def resume_run(
    reference: str,
    config: ConfigOptions,
    view: ViewOptions,
    program: Program,
    *,
    approvals: Approving | None = None,
    adopt: bool = False,
) -> RunOutcome:
    """Resume a run until it finishes or waits; without a terminal, pending approvals keep waiting."""
    with open_service(config) as service:
        paths = service.find(reference)
        state = RecordedRun(paths).state()  # not authenticated yet: `adopt` may only now accept its key
        resolved = service.workspace.settings_of(paths, adopt=adopt)
        has_approvals = bool(service.approvals_of(str(paths.root)))
    if state.status is RunStatus.REVIEW_REQUIRED:
        (wait,) = list_waits(state, Pending(), CommandFor(program.name, reference))
        raise IllegalTransition(f"the result of `{state.run_id}` is waiting for review", hint=wait.join_commands())

    async def start(service: RunService) -> StartedRun:
        run_id = await service.resume(str(paths.root), resolved=resolved, adopt=adopt)
        return StartedRun(run_id, is_new=not state.started_at, notices=resolved.notices)

    default: Approving = "inbox" if has_approvals else "none"
    participants = resolve_interaction(view, approvals, default=default, rule_file=rule_file_of(resolved))
    return _run_and_show(start, resolved, config, view, program, participants)


def fork_run(
    reference: str,
    request: RunRequest,
    config: ConfigOptions,
    view: ViewOptions,
    program: Program,
    *,
    approvals: Approving | None = None,
) -> RunOutcome:
    """Execute a new run that continues from an event of another one, with its settings."""
    with open_service(config) as service:
        paths = service.find(reference)
        resolved = service.workspace.settings_of(paths)
    participants = resolve_interaction(view, approvals, rule_file=rule_file_of(resolved))
    return create_run(request, resolved, config, view, program, participants)


def chat(
    session_id: str,
    resolved: Resolved,
    config: ConfigOptions,
    view: ViewOptions,
    program: Program,
    participants: InteractionOptions,
) -> int:
    """Execute one run per typed message until an empty line or the end of the input.

    Returns the exit code of the last run.
    """
    console = stderr_console(no_color=view.no_color)
    console.print(Text(f"session {session_id}; an empty line ends the chat", style="dim"))
    code = 0
    while True:
        console.print(Text(CHAT_PROMPT, style="bold cyan"), end="")
        console.file.flush()
        line = read_line_sync(sys.stdin.fileno())
        if line is None:
            console.print()
        message = (line or "").strip()
        if not message:
            return code
        request = RunRequest(prompt=message, session_id=session_id)
        try:
            ending = create_run(request, resolved, config, view, program, participants)
        except SkillsRuntimeError as error:  # such as a missing skill: the next message may work
            code = report_error(error, program)
            continue
        sys.stdout.flush()
        code = ending.exit_code
        if ending.signal is not None:
            return code


def _run_and_show(
    start: Start,
    resolved: Resolved,
    config: ConfigOptions,
    options: ViewOptions,
    program: Program,
    participants: InteractionOptions,
) -> RunOutcome:
    view_factory = partial(create_view, options, program=program.name, asked_here=participants.console is not None)
    ending = asyncio.run(_run_with_view(start, resolved, config, view_factory, participants))
    if not options.json:
        write_answer(ending.answer)
    return ending


async def _run_with_view(
    start: Start, resolved: Resolved, config: ConfigOptions, make_view: ViewFactory, participants: InteractionOptions
) -> RunOutcome:
    """Execute a run and show it; Ctrl-C stops it cleanly, a second one exits at once."""
    showing = EventFeed()
    interaction = participants.build_interaction(showing.pause, showing.listen)
    try:
        with open_service(config, interaction=interaction) as service, interrupts(showing.close) as interruption:
            async with service.working():
                started = await start(service)
                paths = service.find(started.run_id)
                showing.start(paths, started, resolved, make_view)
                try:
                    await _wait_or_stop(service, started.run_id, interruption, showing)
                finally:
                    await showing.drain()
            error = service.errors.get(started.run_id)
            if error is not None and not isinstance(error, StorageFailed):
                raise error
            run = service.view(started.run_id)
            ending = RunOutcome(
                paths.root, run.state, error, run.pending, interruption.number, run.conversation.last_text
            )
        with suppress(BrokenPipeError):  # the reader has gone; the run is not affected
            showing.finish(ending)
        return ending
    finally:
        showing.close()


async def _wait_or_stop(service: RunService, run_id: str, interruption: Interruption, showing: "EventFeed") -> None:
    """Return when the run has finished, waits, or was stopped by a signal."""
    task = asyncio.create_task(service.wait(run_id))
    stop = asyncio.create_task(interruption.wait())
    await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
    if not task.done():
        with suppress(OSError):  # the terminal is gone or the disk is full: stop anyway
            showing.show_stopping()
        await service.stop(run_id)
        await task
    stop.cancel()


class EventFeed:
    """Deliver the events of one run to one view; a failing view never disturbs the run."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._view: View | None = None
        self._early_events: list[Event | None] = []
        """Events from before the view existed."""
        self._queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._shown_seqs: set[int] = set()
        self._started = asyncio.Event()
        self._work: asyncio.Task[None] | None = None

    def listen(self, event: Event) -> None:
        """Accept an event from any thread."""
        self._loop.call_soon_threadsafe(self._enqueue, event)

    def start(
        self,
        paths: RunPaths,
        started: StartedRun,
        resolved: Resolved,
        make_view: ViewFactory,
    ) -> None:
        """Show the run from here on; for a new one, replay its skill notices."""
        history = 0
        for event in RecordedRun(paths).events() if started.is_new else ():
            if isinstance(event.payload, HistoryLoaded):
                history = len(event.payload.runs)
            if skill_note(event.payload):
                self._shown_seqs.add(event.seq)
                self._queue.put_nowait(event)
        prompt = RecordedRun(paths).prompt
        heading = Heading(
            title=make_title(prompt),
            model=describe_models(resolved),
            sandbox=resolved.settings.sandbox.workspace,
            history=plural(history, "earlier run") if history else "",
        )
        self._view = make_view(heading, started.notices)
        self._work = asyncio.create_task(self._show(self._view, paths.root, started.run_id), name="view")
        for early in self._early_events:
            self._enqueue(early)
        self._started.set()

    def show_stopping(self) -> None:
        """Confirm Ctrl-C."""
        if self._view is not None:
            self._view.show_stopping()

    async def drain(self) -> None:
        """Wait until all events are shown."""
        self._loop.call_soon_threadsafe(self._enqueue, None)
        if self._work is not None:
            await asyncio.wait({self._work})

    def finish(self, ending: RunOutcome) -> None:
        """Show the outcome; re-raise the error of the view, if it failed."""
        if self._work is not None and self._view is not None:
            self._work.result()
            self._view.finish(ending)

    def close(self) -> None:
        """Restore the terminal."""
        if self._view is not None:
            self._view.close()

    @asynccontextmanager
    async def pause(self) -> AsyncGenerator[None]:
        """Show the events so far, then nothing while the block lasts."""
        await self._started.wait()
        await asyncio.sleep(0)
        while not self._queue.empty() and self._work is not None and not self._work.done():
            await asyncio.sleep(0)
        view = self._view
        if view is not None:
            view.pause()
        try:
            yield
        finally:
            if view is not None:
                view.resume()

    def _enqueue(self, event: Event | None) -> None:
        if self._work is None:
            self._early_events.append(event)
        elif event is None or event.seq not in self._shown_seqs:
            self._queue.put_nowait(event)

    async def _show(self, view: View, root: Path, run_id: str) -> None:
        view.start(root, run_id)
        while (event := await self._queue.get()) is not None:
            view.show_event(event)
