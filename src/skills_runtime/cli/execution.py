"""Executing one run in this process: through the dispatcher, watched by a view, stopped by Ctrl-C.

A view that fails, because nobody reads it any more, never disturbs the run.
"""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import Protocol

from skills_runtime.agent import Agent, RunRequest, RunResult
from skills_runtime.agent.assemble import Equipment
from skills_runtime.config import Resolved
from skills_runtime.engine import LocalDispatcher
from skills_runtime.errors import EXIT_CODES, StorageFailed
from skills_runtime.events import Event
from skills_runtime.events.states import RunStatus
from skills_runtime.ledger import RunIndex
from skills_runtime.ports import Backend
from skills_runtime.projections import RunState
from skills_runtime.runs import Run
from skills_runtime.tools import builtin_tools

LEFT_AT_ONCE = 130

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

    @property
    def exit_code(self) -> int:
        """What the process reports."""
        return self.trouble.exit_code if self.trouble else _EXIT.get(self.state.status, 1)


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

    def end(self, ending: Ending) -> None:
        """The run is over."""
        ...

    def close(self) -> None:
        """Leave the terminal as it was; harmless when repeated."""
        ...


def execute(plan: Plan, index: RunIndex, view: View) -> Ending:
    """Create the run, execute it and show it; Ctrl-C stops it cleanly, a second one leaves at once."""
    try:
        return asyncio.run(_execute(plan, index, view))
    finally:
        view.close()


async def _execute(plan: Plan, index: RunIndex, view: View) -> Ending:
    loop = asyncio.get_running_loop()
    happened: asyncio.Queue[Event | None] = asyncio.Queue()

    def listen(event: Event) -> None:
        loop.call_soon_threadsafe(happened.put_nowait, event)

    agent = Agent.from_resolved(plan.resolved, Equipment(tools=builtin_tools(), backend=plan.backend, hooks=(listen,)))
    with interrupts(view) as interrupted:
        run = plan.open(agent)
        shown = asyncio.create_task(_show(run, happened, view))
        try:
            result = await _result(run, LocalDispatcher(agent, index), interrupted, view)
        finally:
            loop.call_soon_threadsafe(happened.put_nowait, None)
            await asyncio.wait({shown})
            await _close(plan.backend)
    ending = Ending(run.paths.root, run.state, _trouble(result))
    with suppress(BrokenPipeError):  # nobody reads any more; the run went on all the same
        shown.result()
        view.end(ending)
    return ending


async def _result(run: Run, dispatcher: LocalDispatcher, interrupted: asyncio.Event, view: View) -> RunResult:
    """The result of the run, which ends by itself or is stopped."""
    run_id = run.state.run_id
    await dispatcher.submit(run)
    result = asyncio.create_task(dispatcher.result(run_id))
    stop = asyncio.create_task(interrupted.wait())
    await asyncio.wait({result, stop}, return_when=asyncio.FIRST_COMPLETED)
    if result.done():
        stop.cancel()
        return result.result()
    with suppress(BrokenPipeError):
        view.stopping()
    await dispatcher.cancel(run_id)
    return await result


async def _show(run: Run, happened: asyncio.Queue[Event | None], view: View) -> None:
    view.begin(run.paths.root, run.state)
    while (event := await happened.get()) is not None:
        view.take(event)


async def _close(backend: Backend) -> None:
    """Take the model's connections down with the event loop they live on."""
    close: Callable[[], Awaitable[None]] | None = getattr(backend, "aclose", None)
    if close is not None:
        await close()


def _trouble(result: RunResult) -> StorageFailed | None:
    if result.error_kind != StorageFailed.kind:
        return None
    return StorageFailed(result.final_output, hint=result.hint)


@contextmanager
def interrupts(view: View) -> Generator[asyncio.Event]:
    """An event that the first Ctrl-C sets; the second leaves the process, even if the loop is stuck."""
    loop = asyncio.get_running_loop()
    heard: list[int] = []
    interrupted = asyncio.Event()

    def interrupt(number: int, frame: FrameType | None) -> None:
        heard.append(number)
        if len(heard) > 1:
            view.close()
            os._exit(LEFT_AT_ONCE)
        loop.call_soon_threadsafe(interrupted.set)

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interrupted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
