"""Executing one run in this process: through the dispatcher, watched by a view, stopped by Ctrl-C."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from skills_runtime.agent import Agent, RunRequest, RunResult
from skills_runtime.agent.options import AgentOptions
from skills_runtime.cli.interrupts import Interruption, exit_code_of, interrupts
from skills_runtime.cli.terminal import NOBODY, People
from skills_runtime.config import Resolved
from skills_runtime.engine import LocalDispatcher
from skills_runtime.errors import EXIT_CODES, StorageFailed
from skills_runtime.events import Event
from skills_runtime.events.states import RunStatus
from skills_runtime.ledger import Ledger
from skills_runtime.ports import Backend
from skills_runtime.projections import Pending, RunState
from skills_runtime.render import skill_note
from skills_runtime.runs import Run
from skills_runtime.tools import builtin_tools


class View(Protocol):
    """Shows a run while it works."""

    def begin(self, root: Path, state: RunState) -> None:
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


class Showing:
    """One view of one run; a view that fails, because nobody reads it any more, never disturbs the run."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._loop = asyncio.get_running_loop()
        self._happened: asyncio.Queue[Event | None] = asyncio.Queue()
        self._work: asyncio.Task[None] | None = None

    def listen(self, event: Event) -> None:
        """Take an event from whichever thread it happened in."""
        self._loop.call_soon_threadsafe(self._happened.put_nowait, event)

    def begin(self, run: Run, *, new: bool = False) -> None:
        """Show the run from here on; of one that is new, also what came of the skills that its task asks for."""
        if new or not run.state.started_at:
            for event in run.events():
                if skill_note(event.payload):
                    self._happened.put_nowait(event)
        self._work = asyncio.create_task(self._show(run), name="view")

    async def finish(self) -> None:
        """Return when everything that happened is shown."""
        self._loop.call_soon_threadsafe(self._happened.put_nowait, None)
        if self._work is not None:
            await asyncio.wait({self._work})

    def check(self) -> None:
        """Raise what the view failed with, if it did."""
        if self._work is not None:
            self._work.result()

    @asynccontextmanager
    async def pause(self) -> AsyncGenerator[None]:
        """Show what has happened so far, and then nothing while the block lasts."""
        await asyncio.sleep(0)
        while not self._happened.empty() and self._work is not None and not self._work.done():
            await asyncio.sleep(0)
        self._view.hold()
        try:
            yield
        finally:
            self._view.release()

    async def _show(self, run: Run) -> None:
        self._view.begin(run.paths.root, run.state)
        while (event := await self._happened.get()) is not None:
            self._view.take(event)


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


@dataclass(frozen=True, slots=True)
class Resumed:
    """A run that has not ended; `adopt` takes it over from a machine whose key is not here."""

    root: Path
    adopt: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be executed."""

    resolved: Resolved
    backend: Backend
    request: RunRequest
    resumed: Resumed | None = None
    """The run to go on with, instead of a new one."""

    def open(self, agent: Agent) -> Run:
        """The run, new or opened again."""
        if self.resumed is None:
            return agent.create(self.request)
        return agent.resume(self.resumed.root, adopt=self.resumed.adopt)


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


def execute(plan: Plan, ledger: Ledger, view: View, people: People = NOBODY) -> Ending:
    """Create the run, execute it and show it; Ctrl-C stops it cleanly, a second one leaves at once."""
    try:
        return asyncio.run(_execute(plan, ledger, view, people))
    finally:
        view.close()


async def _execute(plan: Plan, ledger: Ledger, view: View, people: People) -> Ending:
    showing = Showing(view)
    agent = Agent.from_resolved(plan.resolved, _equipment(plan, ledger, showing, people))
    with interrupts(view.close) as interruption:
        run = plan.open(agent)
        showing.begin(run, new=plan.resumed is None)
        dispatcher = LocalDispatcher(agent, ledger.index, inbox=ledger.inbox)
        try:
            result = await _result(run, dispatcher, interruption, view)
        finally:
            await dispatcher.drain()
            await showing.finish()
            await _close(plan.backend)
    ending = Ending(
        run.paths.root,
        run.state,
        _trouble(result),
        run.view.pending,
        interruption.number,
        run.view.conversation.last_text,
    )
    with suppress(BrokenPipeError):  # nobody reads any more; the run went on all the same
        showing.check()
        view.end(ending)
    return ending


def _equipment(plan: Plan, ledger: Ledger, showing: Showing, people: People) -> AgentOptions:
    human, approver = people.meet(showing.pause)
    return AgentOptions(
        tools=builtin_tools(),
        backend=plan.backend,
        human=human,
        approver=approver,
        remembered=people.remembered,
        inbox=ledger.inbox,
        hooks=(showing.listen,),
    )


async def _result(run: Run, dispatcher: LocalDispatcher, interruption: Interruption, view: View) -> RunResult:
    """The result of the run, which ends by itself, waits or is stopped."""
    run_id = run.state.run_id
    await dispatcher.submit(run)
    result = asyncio.create_task(dispatcher.result(run_id))
    stop = asyncio.create_task(interruption.wait())
    await asyncio.wait({result, stop}, return_when=asyncio.FIRST_COMPLETED)
    if result.done():
        stop.cancel()
        return result.result()
    with suppress(OSError):  # a terminal that is gone, or a full disk: the run stops all the same
        view.stopping()
    await dispatcher.stop(run_id)
    return await result


async def _close(backend: Backend) -> None:
    """Take the model's connections down with the event loop they live on."""
    close: Callable[[], Awaitable[None]] | None = getattr(backend, "aclose", None)
    if close is not None:
        await close()


def _trouble(result: RunResult) -> StorageFailed | None:
    if result.error_kind != StorageFailed.kind:
        return None
    return StorageFailed(result.final_output, hint=result.hint)
