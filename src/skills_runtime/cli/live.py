"""Execute one run in this process and show its progress; Ctrl-C stops it."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from skills_runtime.agent import describe_models
from skills_runtime.cli.options import Approving, ConfigOptions, ViewOptions, open_service
from skills_runtime.cli.output import plural, write_answer
from skills_runtime.cli.program import Interruption, Program, interrupts
from skills_runtime.cli.run_text import CommandFor, list_waits
from skills_runtime.cli.run_view import Heading, RunOutcome, View, create_view
from skills_runtime.cli.terminal import InteractionOptions, resolve_interaction
from skills_runtime.config import Resolved
from skills_runtime.engine import RecordedRun, RunRequest, RunService, rule_file_of
from skills_runtime.errors import IllegalTransition, StorageFailed
from skills_runtime.events import Event, HistoryLoaded, RunStatus
from skills_runtime.projections import Pending
from skills_runtime.render import skill_note
from skills_runtime.runs import RunPaths
from skills_runtime.text import make_title


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
        resolved = service.workspace.settings_of(paths)
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


def continue_turn(
    run_id: str,
    message: str,
    resolved: Resolved,
    config: ConfigOptions,
    view: ViewOptions,
    program: Program,
    participants: InteractionOptions,
) -> RunOutcome:
    """Resume a stopped run with a message, which its model reads first."""

    async def start(service: RunService) -> StartedRun:
        service.send(run_id, message)
        return StartedRun(await service.resume(run_id, resolved=resolved), is_new=False)

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
    if not options.json and not ending.is_answer_shown:
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
                showing.start(service, paths, started, resolved, make_view)
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
            ending = replace(ending, is_answer_shown=showing.has_shown(ending.answer))
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
        service: RunService,
        paths: RunPaths,
        started: StartedRun,
        resolved: Resolved,
        make_view: ViewFactory,
    ) -> None:
        """Show the run from here on: a new one with its skill notices, a resumed one with its open calls."""
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
            workspace=resolved.settings.sandbox.workspace,
            history=plural(history, "earlier run") if history else "",
        )
        self._view = make_view(heading, started.notices)
        if not started.is_new:
            self._view.add_open_calls(service.view(started.run_id).conversation.open_calls.values())
        self._work = asyncio.create_task(self._show(self._view, paths.root, started.run_id), name="view")
        for early in self._early_events:
            self._enqueue(early)
        self._started.set()

    def show_stopping(self) -> None:
        """Confirm Ctrl-C."""
        if self._view is not None:
            self._view.show_stopping()

    def has_shown(self, answer: str) -> bool:
        """Return whether the view has shown this answer."""
        return self._view is not None and self._view.has_shown(answer)

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
