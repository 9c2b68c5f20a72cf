"""Execute runs: the `Dispatcher` port, by run id, and its adapter for this process.

- Every method takes a run id and is idempotent. No adapter is handed an open run: it opens runs by id through its
  `RunHost`, so the run's lock is taken and released where the work is done.
- Nothing is returned: the outcome of a run is read from its log.
- `cancel` and `stop` return when all tasks of the run have stopped; `cancel` ends it, `stop` leaves it resumable.
- `drain` waits for the runs in progress, accepts no more, and does not interrupt them.
- `RunService` is the only caller for the runs of a workspace. Replays and trials of skills, whose runs belong to no
  workspace, go through `dispatch_run`.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from skills_runtime.agent import Agent, RunResult, finish_tree
from skills_runtime.agent.loop import Control, interruption_event
from skills_runtime.clock import SystemClock
from skills_runtime.engine.run_index import build_row
from skills_runtime.errors import SkillsRuntimeError, StorageFailed, ValidationFailed
from skills_runtime.ledger import Ledger
from skills_runtime.projections import RunState
from skills_runtime.runs import Run, read_prompt, runs_root

DEFAULT_SLOTS = 8
WATCH_SECONDS = 0.05
"""How often the inbox is checked for cancellations from other processes."""


class Dispatcher(Protocol):
    """Executes runs; every method is idempotent and ignores runs of other dispatchers."""

    async def schedule(self, run_id: str, not_before: str | None = None) -> None:
        """Execute a run until it ends or waits for input, not before a given time; ignored if already scheduled."""
        ...

    async def nudge(self, run_id: str) -> None:
        """Apply cancellations in a run's inbox now."""
        ...

    async def cancel(self, run_id: str, reason: str = "cancelled") -> None:
        """Cancel a run; returns when it has ended."""
        ...

    async def stop(self, run_id: str) -> None:
        """Stop executing a run without ending it; returns when all its tasks have stopped."""
        ...

    async def drain(self) -> None:
        """Accept no more runs, and wait for those in progress."""
        ...


class OpenedRun(NamedTuple):
    """A run, open for writing, and its agent."""

    run: Run
    agent: Agent


class RunHost(Protocol):
    """What a dispatcher in this process needs to know about runs."""

    def open(self, run_id: str) -> OpenedRun:
        """Open a run for writing, with the agent of its settings; called in a thread."""
        ...

    def should_continue(self, run_id: str) -> bool:
        """Return whether a run that parked has meanwhile received what it waits for; called in a thread."""
        ...

    def on_started(self, run_id: str) -> None:
        """Handle that a run is open here and will be executed once a slot is free."""
        ...

    def on_finished(self, run_id: str, error: SkillsRuntimeError | None) -> None:
        """Handle that a run is closed here;  `error` is a failure that its log could not record."""
        ...


@dataclass(slots=True)
class _ActiveRun:
    """A run in progress."""

    control: Control
    task: "asyncio.Task[None] | None" = None
    """The whole execution, until the run is closed."""
    segment: "asyncio.Task[RunResult] | None" = None
    """The current agent task; cancelled at most once, because a second time would interrupt its cleanup."""
    cancelled: bool = False

    def cancel(self) -> None:
        """Cancel the agent task."""
        if self.segment is not None and not self.cancelled:
            self.cancelled = True
            self.segment.cancel()


class InlineDispatcher:
    """Executes runs in this process, a bounded number at a time, and keeps the index up to date.

    A run is opened when it is scheduled, so that one that cannot be opened is refused at once, and no other process
    takes it while it waits for a slot.
    """

    def __init__(self, host: RunHost, ledger: Ledger | None = None, *, slots: int = DEFAULT_SLOTS) -> None:
        self._host = host
        self._ledger = ledger
        self._slots = asyncio.Semaphore(slots)
        self._locks = KeyedLocks()
        self._active: dict[str, _ActiveRun] = {}
        self._timers: dict[str, asyncio.Task[None]] = {}
        self._watcher: asyncio.Task[None] | None = None
        self._draining = False

    async def schedule(self, run_id: str, not_before: str | None = None) -> None:
        """Open a run and execute it when a slot is free; its first events are durable when this returns."""
        if self._draining:
            raise ValidationFailed("no more runs are taken: this process is about to stop")
        delay = 0.0
        if not_before is not None:
            now = datetime.fromisoformat(SystemClock().now())
            delay = (datetime.fromisoformat(not_before) - now).total_seconds()
        if delay > 0:
            if run_id not in self._timers and run_id not in self._active:
                self._timers[run_id] = asyncio.create_task(self._schedule_later(run_id, delay))
            return
        async with self._locks.hold(run_id):
            if run_id in self._active:
                return  # before it is left its inbox is looked into, under the same lock
            run = await self._open(run_id)
            self._host.on_started(run_id)
            active = self._active[run_id] = _ActiveRun(Control())
            active.task = asyncio.create_task(self._work_on(run_id, run, active), name=f"run {run_id}")
        if self._ledger is not None and (self._watcher is None or self._watcher.done()):
            self._watcher = asyncio.create_task(self._watch(), name="inbox")
        await asyncio.sleep(0)

    async def nudge(self, run_id: str) -> None:
        """Apply a cancellation in the inbox of a run in progress."""
        if run_id in self._active:
            self._check_cancellation(run_id)

    async def cancel(self, run_id: str, reason: str = "cancelled") -> None:
        """Cancel a run in progress, with the reason from its inbox if there is one."""
        del reason  # the loop reads it from the inbox
        self._forget_timer(run_id)
        if active := self._active.get(run_id):
            active.cancel()
            await _wait_until_done(active)

    async def stop(self, run_id: str) -> None:
        """Stop executing a run."""
        self._forget_timer(run_id)
        if active := self._active.get(run_id):
            active.control.stopping = True
            active.cancel()
            await _wait_until_done(active)

    async def drain(self) -> None:
        """Accept no more runs, and wait for those in progress."""
        self._draining = True
        for run_id in tuple(self._timers):
            self._forget_timer(run_id)
        while self._active:
            await asyncio.gather(*(_wait_until_done(active) for active in tuple(self._active.values())))
        if self._watcher is not None:
            self._watcher.cancel()
            await asyncio.wait([self._watcher])

    async def _schedule_later(self, run_id: str, delay: float) -> None:
        await asyncio.sleep(delay)
        self._timers.pop(run_id, None)
        try:
            await self.schedule(run_id)
        except SkillsRuntimeError as error:
            self._host.on_finished(run_id, error)

    def _forget_timer(self, run_id: str) -> None:
        if timer := self._timers.pop(run_id, None):
            timer.cancel()

    async def _work_on(self, run_id: str, run: OpenedRun, active: _ActiveRun) -> None:
        """Execute a run until it ends or waits, and again if it meanwhile received what it waits for."""
        error: SkillsRuntimeError | None = None
        try:
            while True:
                error = await self._execute(run, active)
                async with self._locks.hold(run_id):
                    should_stop = error is not None or active.control.stopping or self._draining
                    if should_stop or not await asyncio.to_thread(self._host.should_continue, run_id):
                        self._release(run_id, error)
                        return
                    run = await self._open(run_id)
        except SkillsRuntimeError as failed:
            error = failed
        except OSError as failed:
            error = StorageFailed(f"the run cannot be executed:  {failed.strerror or failed}")
        finally:
            self._release(run_id, error)

    def _release(self, run_id: str, error: SkillsRuntimeError | None) -> None:
        if self._active.pop(run_id, None) is not None:
            self._host.on_finished(run_id, error)

    async def _execute(self, opened_run: OpenedRun, active: _ActiveRun) -> SkillsRuntimeError | None:
        """Execute one segment of a run; return the failure that its log could not record."""
        run, control = opened_run.run, active.control
        active.cancelled = False
        active.segment = asyncio.create_task(self._in_slot(opened_run, control), name=f"segment {run.state.run_id}")
        if control.stopping:
            active.cancel()
        try:
            await asyncio.wait([active.segment])
            if not active.segment.cancelled():
                result = active.segment.result()
                failed = result.error_kind == StorageFailed.kind
                return StorageFailed(result.final_output, hint=result.hint) if failed else None
            if run.state.open and not control.stopping:  # it was still waiting for a slot
                inbox = self._ledger.inbox if self._ledger is not None else None
                finish_tree(run, inbox, lambda: interruption_event(run.view, "", str(run.paths.events)))
            return None
        finally:
            run.close()

    async def _in_slot(self, run: OpenedRun, control: Control) -> RunResult:
        async with self._slots:
            return await run.agent.execute(run.run, control=control)

    async def _open(self, run_id: str) -> OpenedRun:
        run = await asyncio.to_thread(self._host.open, run_id)
        try:
            await self._index_while_open(run)
        except BaseException:
            run.run.close()
            raise
        return run

    async def _index_while_open(self, opened_run: OpenedRun) -> None:
        """Update the row of a run while it is open; the index is never ahead of the disk."""
        run = opened_run.run
        await run.commit_async()
        if self._ledger is None:
            return
        index = self._ledger.index
        prompt = read_prompt(run.paths.root)

        def record(state: RunState) -> None:
            # The index is derived and catches up at the next refresh, so its failures never stop a run.
            with suppress(SkillsRuntimeError):
                row = build_row(run.paths, state, prompt, pending_approvals=len(run.view.pending.approvals.open))
                index.record(row, text=f"{prompt}\n{state.final_output}")

        index.remember_root(runs_root(opened_run.agent.workspace_root))
        record(run.state)
        run.watch(record)

    async def _watch(self) -> None:
        """Look for cancellations whenever an inbox was written; other messages wait for the next turn."""
        last_version: int | None = None
        while self._active and self._ledger is not None:
            with suppress(SkillsRuntimeError):  # one that is busy is looked into the next time
                version = self._ledger.inbox.version()
                if version != last_version:
                    for run_id in tuple(self._active):
                        self._check_cancellation(run_id)
                last_version = version
            await asyncio.sleep(WATCH_SECONDS)

    def _check_cancellation(self, run_id: str) -> None:
        if self._ledger is not None and any(message.kind == "cancel" for message in self._ledger.inbox.pending(run_id)):
            self._active[run_id].cancel()


async def _wait_until_done(active: _ActiveRun) -> None:
    if active.task is not None:
        await asyncio.wait([active.task])


async def dispatch_run(run_id: str, open_run: Callable[[], OpenedRun]) -> SkillsRuntimeError | None:
    """Execute a run outside any workspace until it ends or waits; return the failure that its log could not record.

    Cancelling the caller stops the execution; the run can be resumed.
    """
    host = _SingleRunHost(open_run)
    dispatcher = InlineDispatcher(host)
    await dispatcher.schedule(run_id)
    try:
        await dispatcher.drain()
    except asyncio.CancelledError:
        await dispatcher.stop(run_id)
        raise
    return host.error


class _SingleRunHost:
    """Opens the one run of a `dispatch_run`."""

    def __init__(self, open_run: Callable[[], OpenedRun]) -> None:
        self.error: SkillsRuntimeError | None = None
        self._open_run = open_run

    def open(self, run_id: str) -> OpenedRun:
        del run_id
        return self._open_run()

    def should_continue(self, run_id: str) -> bool:
        del run_id
        return False  # it has no inbox

    def on_started(self, run_id: str) -> None:
        pass

    def on_finished(self, run_id: str, error: SkillsRuntimeError | None) -> None:
        del run_id
        self.error = error


class KeyedLocks:
    """A lock per name, kept only while it is held or awaited."""

    def __init__(self) -> None:
        self._locks: dict[str, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncGenerator[None]:
        """Hold the lock of a name for the duration of the block."""
        lock, waiting = self._locks.get(name, (asyncio.Lock(), 0))
        self._locks[name] = (lock, waiting + 1)
        try:
            async with lock:
                yield
        finally:
            waiting = self._locks[name][1] - 1
            if waiting:
                self._locks[name] = (lock, waiting)
            else:
                del self._locks[name]
