"""Feeding a view with the events of a run, in order, and making room between them for a question."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from skills_runtime.events import Event
from skills_runtime.projections import RunState
from skills_runtime.projections.skill_notes import skill_note
from skills_runtime.runs import Run

if TYPE_CHECKING:
    from skills_runtime.cli.execution import Ending


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
