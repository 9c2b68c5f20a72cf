"""Seeing runs through: each is worked on until it ends or waits for somebody, and again when it was told meanwhile."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress

from skills_runtime.engine import LocalDispatcher
from skills_runtime.engine.recovery import should_continue
from skills_runtime.errors import SkillsRuntimeError, StorageFailed
from skills_runtime.ledger import Ledger
from skills_runtime.projections import RunState
from skills_runtime.service.work.making import Opened
from skills_runtime.service.work.turns import dispatcher_for

DEFAULT_TURNS = 8
WATCH_SECONDS = 0.2
"""How soon a cancellation from another process is seen."""


class Attendance:
    """The runs under way, and who works on each."""

    def __init__(self, ledger: Ledger, *, state_of: Callable[[str], RunState], reopen: Callable[[str], Opened]) -> None:
        self.troubles: dict[str, SkillsRuntimeError] = {}
        """Why runs that were taken on are not worked on."""
        self.stopping = False
        self._ledger = ledger
        self._state_of = state_of
        self._reopen = reopen
        self._turns = asyncio.Semaphore(DEFAULT_TURNS)
        self._dispatchers: dict[str, LocalDispatcher] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._locks: dict[str, tuple[asyncio.Lock, int]] = {}
        self._ending: dict[str, asyncio.Task[None]] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._tasks

    @asynccontextmanager
    async def alone(self, run_id: str) -> AsyncGenerator[None]:
        """One at a time opens a run."""
        lock, waiting = self._locks.get(run_id, (asyncio.Lock(), 0))
        self._locks[run_id] = (lock, waiting + 1)
        try:
            async with lock:
                yield
        finally:
            waiting = self._locks[run_id][1] - 1
            if waiting:
                self._locks[run_id] = (lock, waiting)
            else:
                del self._locks[run_id]

    async def submit(self, opened: Opened) -> None:
        """Take over an open run; when this returns its beginning is on the disk."""
        run_id = opened.run.state.run_id
        dispatcher = dispatcher_for(opened.agent, self._ledger.index, self._turns)
        await dispatcher.submit(opened.run)
        self.troubles.pop(run_id, None)
        self._dispatchers[run_id] = dispatcher
        if run_id not in self._tasks:
            self._tasks[run_id] = asyncio.create_task(self._attend(run_id), name=f"attend {run_id}")

    async def cancel(self, run_id: str) -> None:
        """End a run that is worked on here; returns when it has ended, or at once when it is not."""
        dispatcher = self._dispatchers.get(run_id)
        if dispatcher is None:
            return
        if run_id not in self._ending:  # once is enough: a second time would cut short what it does about the first
            self._ending[run_id] = asyncio.create_task(dispatcher.cancel(run_id))
        await asyncio.wait([self._ending[run_id]])

    async def watch(self) -> None:
        """Obey cancellations that other processes left in the inbox."""
        inbox, seen = self._ledger.inbox, None
        while True:
            with suppress(SkillsRuntimeError):  # one that is busy is looked into the next time
                version = inbox.version()
                for run_id in tuple(self._dispatchers) if version != seen else ():
                    if any(message.kind == "cancel" for message in inbox.pending(run_id)):
                        await self.cancel(run_id)
                seen = version
            await asyncio.sleep(WATCH_SECONDS)

    async def anybody_done(self) -> None:
        """Wait until a run is over, if any is under way."""
        if self._tasks:
            await asyncio.wait(self._tasks.values(), return_when=asyncio.FIRST_COMPLETED)

    async def stop(self) -> None:
        """Stop all work without ending a run; returns when nothing of it runs any more."""
        self.stopping = True
        dispatchers = tuple(self._dispatchers.items())
        await asyncio.gather(*(one.stop(run_id) for run_id, one in dispatchers), return_exceptions=True)
        if self._tasks:
            await asyncio.wait(self._tasks.values())

    async def _attend(self, run_id: str) -> None:
        try:
            while True:
                await self._dispatchers[run_id].result(run_id)
                async with self.alone(run_id):
                    state = await asyncio.to_thread(self._state_of, run_id)
                    # Whoever says something after this look finds that nobody attends any more, and opens the run.
                    if self.stopping or not should_continue(state, self._ledger.inbox.pending(run_id)):
                        self._leave(run_id)
                        return
                    await self.submit(await asyncio.to_thread(self._reopen, run_id))
        except SkillsRuntimeError as error:
            self.troubles[run_id] = error
        except OSError as error:
            self.troubles[run_id] = StorageFailed(f"the run cannot be worked on: {error.strerror or error}")
        finally:
            self._leave(run_id)

    def _leave(self, run_id: str) -> None:
        for known in (self._tasks, self._dispatchers, self._ending):
            known.pop(run_id, None)
