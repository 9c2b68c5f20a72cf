"""Works on one run in this process: through `RunService`, shown by a view, stopped by Ctrl-C."""

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

from skills_runtime.cli.options import Approving, ConfigOptions, ViewOptions, model_name, open_service, shown_path
from skills_runtime.cli.output import (
    Sign,
    between,
    count,
    cut,
    duration,
    labelled,
    money,
    plural,
    room_beside,
    short_id,
    sign_of,
    spread,
    talk,
    write_answer,
    write_notices,
)
from skills_runtime.cli.program import Interruption, Program, complain, exit_code_of, interrupts, say
from skills_runtime.cli.run_text import (
    CommandFor,
    Step,
    Steps,
    exit_code_for,
    note_of,
    step_lines,
    wait_lines,
    waits_of,
)
from skills_runtime.cli.terminal import People, people_here, wait_for_line
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
_TROUBLED = Sign("✗", "stopped", "red")
TITLE_CELLS = 60
_REFRESH_PER_SECOND = 8
_ECHO_CELLS = 3
"""Room at the end of a line that is rewritten: terminals echo `^C` there, and a wrapped line cannot be taken back."""
_NOTE_INDENT = 5
_CHUNK = 1 << 20


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


class View:
    """Shows a run while it works; this one shows nothing."""

    def begin(self, root: Path, run_id: str) -> None:
        """The run exists."""

    def take(self, event: Event) -> None:
        """Something happened."""

    def stopping(self) -> None:
        """Somebody wants the run to stop."""

    def hold(self) -> None:
        """Write nothing until `release`: somebody is being asked."""

    def release(self) -> None:
        """Go on, with what was held back first."""

    def end(self, ending: Ending) -> None:
        """The run is over, or waits."""

    def close(self) -> None:
        """Leave the terminal as it was; harmless when repeated."""


def show_ending(console: Console, ending: Ending, steps: int, *, program: str, hint: str) -> None:
    """What came of a run, what it took, and where to look."""
    command = CommandFor(program, short_id(ending.state.run_id))
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
    if aside := RecordedRun(RunPaths(ending.root)).list_quarantined():
        facts["set aside"] = (
            f"{plural(len(aside), 'new file')} that programs obey, such as {shown_path(Path(aside[0]))}"
        )
        facts["keep them"] = command("runs accept")
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


def _result(ending: Ending, command: CommandFor) -> Text:
    """How it ended in one word, and why."""
    state, trouble = ending.state, ending.trouble
    if ending.stopped and not trouble:
        return Text.assemble((" stopped", "bold cyan"), f"; go on with: {command('runs resume')}")
    sign = _TROUBLED if trouble else sign_of(state.status, state.waiting_kind)
    word = "done" if state.status == "completed" else sign.word
    if trouble:
        reason = readable_line(trouble.message)
    elif state.status == "completed":
        reason = plural(len(state.artifacts), "deliverable")
    else:
        waits = "; ".join(wait.what for wait in waits_of(state, ending.pending, command))
        reason = readable_line(state.failure_reason or "") or readable_line(waits or state.waiting_message)
        reason = f"exit code {ending.exit_code}" if reason == state.status == "cancelled" else reason
    return Text.assemble((f" {word}", f"bold {sign.style}"), f"  {reason}")


@dataclass(frozen=True, slots=True)
class Heading:
    """What the first line says besides the id."""

    title: str
    model: str
    sandbox: str
    history: str = ""
    """What of its session the run knows."""


class HumanView(View):
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


class QuietView(View):
    """Says next to nothing while a run works."""

    def __init__(self, program: str = "skills-runtime") -> None:
        self._program = program

    def take(self, event: Event) -> None:
        """Say what was asked for and is not there."""
        if is_skill_notice(event.payload):
            write_notices([skill_note(event.payload)])

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

    def _say_what_it_waits_for(self, ending: Ending) -> None:
        state, command = ending.state, CommandFor(self._program, short_id(ending.state.run_id))
        waits = [] if ending.stopped else waits_of(state, ending.pending, command)
        what = "; ".join(wait.what for wait in waits) or state.waiting_message or "it was stopped"
        kind = state.waiting_kind or ("stopped" if ending.stopped else str(state.status))
        hint = "; ".join(wait.in_words() for wait in waits) or f"`{command('runs resume')}`"
        say(f"the run `{state.run_id}` waits: {what}", kind=kind, hint=hint)


class LogView(View):
    """Copies the complete lines of a log to a stream as the log grows."""

    def __init__(self, output: BinaryIO) -> None:
        self._output = output
        self._fd = -1
        self._offset = 0

    def begin(self, root: Path, run_id: str) -> None:
        """Write what is there already."""
        self._fd = open_regular(RunPaths(root).events)
        self._copy()

    def take(self, event: Event) -> None:
        """Write what has come."""
        self._copy()

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
    options: ViewOptions, heading: Heading, notices: Iterable[str], *, program: str, asked_here: bool = False
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


@dataclass(frozen=True, slots=True)
class Started:
    """A run that is worked on now; `fresh` when it had not begun before."""

    run_id: str
    fresh: bool
    notices: Iterable[str] = ()
    """What its user should know first."""


Start = Callable[[RunService], Awaitable[Started]]
MakeView = Callable[[Heading, Iterable[str]], View]


def create_run(
    request: RunRequest, resolved: Resolved, given: ConfigOptions, view: ViewOptions, program: Program, people: People
) -> Ending:
    """Work on a new run until it ends or waits, and leave its answer on stdout."""

    async def start(service: RunService) -> Started:
        created = await service.create(request, resolved=resolved)
        return Started(created.run_id, fresh=True, notices=created.notices)

    return _work_on(start, resolved, given, view, program, people)


def resume_run(
    reference: str,
    given: ConfigOptions,
    view: ViewOptions,
    program: Program,
    *,
    approvals: Approving | None = None,
    adopt: bool = False,
) -> Ending:
    """Work on a run until it ends or waits; one that waits for an approval goes on waiting where nobody is there."""
    with open_service(given) as service:
        paths = service.find(reference)
        state = RecordedRun(paths).state()  # as far as anybody can read it: it may be adopted only now
        resolved = service.workspace.settings_of(paths, adopt=adopt)
        asks = bool(service.approvals_of(str(paths.root)))
    if state.status is RunStatus.REVIEW_REQUIRED:
        (wait,) = waits_of(state, Pending(), CommandFor(program.name, reference))
        raise IllegalTransition(f"the result of `{state.run_id}` waits for review", hint=wait.in_words())

    async def start(service: RunService) -> Started:
        run_id = await service.resume(str(paths.root), resolved=resolved, adopt=adopt)
        return Started(run_id, fresh=not state.started_at, notices=resolved.notices)

    otherwise: Approving = "inbox" if asks else "none"
    people = people_here(view, approvals, otherwise=otherwise, rule_file=rule_file_of(resolved))
    return _work_on(start, resolved, given, view, program, people)


def fork_run(
    reference: str,
    request: RunRequest,
    given: ConfigOptions,
    view: ViewOptions,
    program: Program,
    *,
    approvals: Approving | None = None,
) -> Ending:
    """Work on a new run that goes on from an event of another one, with the settings of that."""
    with open_service(given) as service:
        paths = service.find(reference)
        resolved = service.workspace.settings_of(paths)
    people = people_here(view, approvals, rule_file=rule_file_of(resolved))
    return create_run(request, resolved, given, view, program, people)


def converse(
    session_id: str, resolved: Resolved, given: ConfigOptions, view: ViewOptions, program: Program, people: People
) -> int:
    """Work on one typed message after the other, until an empty one or the end of the input.

    Each is the task of a new run of the session; the exit code of the last one counts.
    """
    console = talk(no_color=view.no_color)
    console.print(Text(f"session {session_id}; an empty line ends the talk", style="dim"))
    code = 0
    while True:
        console.print(Text(CHAT_PROMPT, style="bold cyan"), end="")
        console.file.flush()
        line = wait_for_line(sys.stdin.fileno())
        if line is None:
            console.print()
        message = (line or "").strip()
        if not message:
            return code
        request = RunRequest(prompt=message, session_id=session_id)
        try:
            ending = create_run(request, resolved, given, view, program, people)
        except SkillsRuntimeError as error:  # such as a skill that is not there: the next message may be better
            code = complain(error, program)
            continue
        sys.stdout.flush()
        code = ending.exit_code
        if ending.signal is not None:
            return code


def _work_on(
    start: Start, resolved: Resolved, given: ConfigOptions, options: ViewOptions, program: Program, people: People
) -> Ending:
    make_view = partial(view_of, options, program=program.name, asked_here=people.console is not None)
    ending = asyncio.run(_work(start, resolved, given, make_view, people))
    if not options.json:
        write_answer(ending.answer)
    return ending


async def _work(start: Start, resolved: Resolved, given: ConfigOptions, make_view: MakeView, people: People) -> Ending:
    """Start the work and show it; Ctrl-C stops it cleanly, a second one leaves at once."""
    showing = Showing()
    interaction = people.interaction(showing.pause, showing.listen)
    try:
        with open_service(given, interaction=interaction) as service, interrupts(showing.close) as interruption:
            async with service.working():
                started = await start(service)
                paths = service.find(started.run_id)
                showing.begin(paths, started, resolved, make_view)
                try:
                    await _until_left(service, started.run_id, interruption, showing)
                finally:
                    await showing.finish()
            error = service.errors.get(started.run_id)
            if error is not None and not isinstance(error, StorageFailed):
                raise error
            run = service.view(started.run_id)
            ending = Ending(paths.root, run.state, error, run.pending, interruption.number, run.conversation.last_text)
        with suppress(BrokenPipeError):  # nobody reads any more; the run went on all the same
            showing.end(ending)
        return ending
    finally:
        showing.close()


async def _until_left(service: RunService, run_id: str, interruption: Interruption, showing: "Showing") -> None:
    """Return when the run has ended, waits, or was stopped by a signal."""
    task = asyncio.create_task(service.wait(run_id))
    stop = asyncio.create_task(interruption.wait())
    await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
    if not task.done():
        with suppress(OSError):  # a terminal that is gone, or a full disk: the run stops all the same
            showing.stopping()
        await service.stop(run_id)
        await task
    stop.cancel()


class Showing:
    """One view of one run; a view that fails, because nobody reads it any more, never disturbs the run."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._view: View | None = None
        self._early: list[Event | None] = []
        """What happened before there was a view."""
        self._happened: asyncio.Queue[Event | None] = asyncio.Queue()
        self._noted: set[int] = set()
        self._begun = asyncio.Event()
        self._work: asyncio.Task[None] | None = None

    def listen(self, event: Event) -> None:
        """Take an event from whichever thread it happened in."""
        self._loop.call_soon_threadsafe(self._take, event)

    def begin(
        self,
        paths: RunPaths,
        started: Started,
        resolved: Resolved,
        make_view: MakeView,
    ) -> None:
        """Show the run from here on; of a fresh one, also what came of the skills that its task asks for."""
        history = 0
        for event in RecordedRun(paths).events() if started.fresh else ():
            if isinstance(event.payload, HistoryLoaded):
                history = len(event.payload.runs)
            if skill_note(event.payload):
                self._noted.add(event.seq)
                self._happened.put_nowait(event)
        prompt = RecordedRun(paths).prompt
        heading = Heading(
            title=make_title(prompt),
            model=model_name(resolved),
            sandbox=resolved.settings.sandbox.workspace,
            history=plural(history, "earlier run") if history else "",
        )
        self._view = make_view(heading, started.notices)
        self._work = asyncio.create_task(self._show(self._view, paths.root, started.run_id), name="view")
        for early in self._early:
            self._take(early)
        self._begun.set()

    def stopping(self) -> None:
        """Show that Ctrl-C was heard."""
        if self._view is not None:
            self._view.stopping()

    async def finish(self) -> None:
        """Return when everything that happened is shown."""
        self._loop.call_soon_threadsafe(self._take, None)
        if self._work is not None:
            await asyncio.wait({self._work})

    def end(self, ending: Ending) -> None:
        """Show how it ended; raises what the view failed with, if it did."""
        if self._work is not None and self._view is not None:
            self._work.result()
            self._view.end(ending)

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._view is not None:
            self._view.close()

    @asynccontextmanager
    async def pause(self) -> AsyncGenerator[None]:
        """Show what has happened so far, and then nothing while the block lasts."""
        await self._begun.wait()
        await asyncio.sleep(0)
        while not self._happened.empty() and self._work is not None and not self._work.done():
            await asyncio.sleep(0)
        view = self._view
        if view is not None:
            view.hold()
        try:
            yield
        finally:
            if view is not None:
                view.release()

    def _take(self, event: Event | None) -> None:
        if self._work is None:
            self._early.append(event)
        elif event is None or event.seq not in self._noted:
            self._happened.put_nowait(event)

    async def _show(self, view: View, root: Path, run_id: str) -> None:
        view.begin(root, run_id)
        while (event := await self._happened.get()) is not None:
            view.take(event)
