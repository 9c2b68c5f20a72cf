"""Works on one run in this process: through `RunService`, shown by a view, stopped by Ctrl-C."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from skills_runtime.cli.errors import Program, complain
from skills_runtime.cli.interrupts import Interruption, interrupts
from skills_runtime.cli.options import Approving, ConfigOptions, ViewOptions
from skills_runtime.cli.output import talk
from skills_runtime.cli.run_view import Ending, Heading, View, view_of
from skills_runtime.cli.state import open_service
from skills_runtime.cli.terminal import People, people_here, wait_for_line
from skills_runtime.cli.text import plural, write_answer
from skills_runtime.cli.waits import command_for, waits_of
from skills_runtime.config import Resolved
from skills_runtime.engine import RecordedRun, RunRequest, RunService
from skills_runtime.engine.approvals import rule_file_of
from skills_runtime.errors import IllegalTransition, SkillsRuntimeError, StorageFailed
from skills_runtime.events import Event
from skills_runtime.events.payloads import HistoryLoaded
from skills_runtime.events.states import RunStatus
from skills_runtime.projections import Pending
from skills_runtime.render import skill_note
from skills_runtime.runs import RunPaths
from skills_runtime.text import title_of

CHAT_PROMPT = "you> "


@dataclass(frozen=True, slots=True)
class Started:
    """A run that is worked on now; `fresh` when it had not begun before."""

    run_id: str
    fresh: bool
    notices: Iterable[str] = ()
    """What its user should know first."""


Start = Callable[[RunService], Awaitable[Started]]


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
        resolved = service.workspace.settings_of(paths, state, adopt=adopt)
        asks = bool(service.approvals_of(str(paths.root)))
    if state.status is RunStatus.REVIEW_REQUIRED:
        (wait,) = waits_of(state, Pending(), command_for(program.name, reference))
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
        resolved = service.workspace.settings_of(paths, RecordedRun(paths).state())
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
    def make_view(heading: Heading, notices: Iterable[str]) -> View:
        return view_of(options, heading, notices, program.name, asked_here=people.console is not None)

    ending = asyncio.run(_work(start, resolved, given, make_view, people))
    if not options.json:
        write_answer(ending.answer)
    return ending


async def _work(
    start: Start,
    resolved: Resolved,
    given: ConfigOptions,
    make_view: Callable[[Heading, Iterable[str]], View],
    people: People,
) -> Ending:
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
    left = asyncio.create_task(service.wait(run_id))
    stop = asyncio.create_task(interruption.wait())
    await asyncio.wait({left, stop}, return_when=asyncio.FIRST_COMPLETED)
    if not left.done():
        with suppress(OSError):  # a terminal that is gone, or a full disk: the run stops all the same
            showing.stopping()
        await service.stop(run_id)
        await left
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
        make_view: Callable[[Heading, Iterable[str]], View],
    ) -> None:
        """Show the run from here on; of a fresh one, also what came of the skills that its task asks for."""
        history = 0
        for event in RecordedRun(paths).events() if started.fresh else ():
            if isinstance(event.payload, HistoryLoaded):
                history = len(event.payload.runs)
            if skill_note(event.payload):
                self._noted.add(event.seq)
                self._happened.put_nowait(event)
        prompt = (paths.root / "prompt.md").read_text(encoding="utf-8", errors="replace")
        heading = Heading(
            title=title_of(prompt),
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


def model_name(resolved: Resolved) -> str:
    """Who answers, as people call it."""
    backend = resolved.settings.llm.backend
    return resolved.settings.models.executor if backend == "openai" else f"{backend} model"
