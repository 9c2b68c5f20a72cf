"""The runs of a service, from the order to the end: accepted durably, worked on in turns, recovered after a crash."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

import msgspec

from skills_runtime.agent.run_defaults import backend_for
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.clock import RandomIds, SystemClock
from skills_runtime.engine import RunControl, read_row, refresh
from skills_runtime.engine.agent_factory import AgentFactory, Model
from skills_runtime.engine.json_store import IdempotencyKeys, JsonStore, KeyedRun
from skills_runtime.engine.recovery import should_resume
from skills_runtime.engine.run_requests import RESERVED, RunOverrides, RunRequest
from skills_runtime.engine.workspace import Workspace
from skills_runtime.errors import Busy, LogEnded, LogLocked, NotFound, SkillsRuntimeError, ValidationFailed
from skills_runtime.ledger import Ledger, open_ledger
from skills_runtime.projections import RunState, RunView
from skills_runtime.runs import LogPorts, RunPaths, check_id, read_view, runs_root
from skills_runtime.runs.derived import catch_up
from skills_runtime.service.streams import Streams
from skills_runtime.service.work.attending import Attendance
from skills_runtime.service.work.making import Maker

MAX_OPEN = 256
"""Runs that are worked on or wait for their turn; an order more is refused."""
CANCEL_SECONDS = 10.0
LOOK_AGAIN_SECONDS = 0.5
"""How soon a run is tried again that another process held when it should have gone on."""
T = TypeVar("T")


class Accepted(msgspec.Struct, frozen=True):
    """A run the service has taken on and that had not ended when this was written."""

    run_id: str


class Made(msgspec.Struct, frozen=True):
    """The run of an order, and whether it is a new one."""

    run_id: str
    new: bool


class Work:
    """Every run this service works on; made by `open_work`."""

    def __init__(
        self, home: Workspace, ledger: Ledger, ports: LogPorts, agents: AgentFactory, streams: Streams
    ) -> None:
        self.home = home
        self.ledger = ledger
        self.ports = ports
        self.streams = streams
        self.desk = RunControl(ledger.inbox, ports)
        self._agents = agents
        self._maker = Maker(home, ledger.index, ports, agents)
        self._claims = IdempotencyKeys(home)
        self._accepted = JsonStore(home.notes / "accepted", Accepted)
        self.attendance = Attendance(
            ledger, state_of=self._ended_or_not, reopen=lambda run_id: self._maker.open(self.find(run_id))
        )
        self._background: set[asyncio.Task[Any]] = set()

    def find(self, run_id: str) -> RunPaths:
        """The directory of a run of this workspace."""
        return self.home.find(run_id, self.ledger.index)

    def view(self, run_id: str) -> RunView:
        """Where a run stands, by its own verified log."""
        return read_view(self.find(run_id), self.ports)

    def record(self, paths: RunPaths) -> None:
        """Let the index know of a change made here; it catches up later when it cannot be told now."""
        with suppress(SkillsRuntimeError, OSError):
            row, text = read_row(paths.root, self.ports)
            self.ledger.index.record(row, text=text)

    async def create(self, order: RunRequest, *, caller: str = "", key: str | None = None) -> Made:
        """Take on an order; when this returns the run is on the disk, and it is worked on even after a crash."""
        self._check_room()
        return await self._to_the_end(self._create(order, caller, key))

    async def resume(self, run_id: str, wishes: RunOverrides | None = None) -> None:
        """Go on with a run that waits, was stopped or was left by its process."""
        self._check_room()
        await self._to_the_end(self._resume(run_id, wishes))

    async def go_on(self, run_id: str) -> None:
        """Let a run take in what was just said to it, if it only waited for that."""
        target = await asyncio.to_thread(self._whose_turn, run_id)
        await self._to_the_end(self._go_on(target))

    async def cancel(self, run_id: str, reason: str, *, key: str | None = None) -> RunState:
        """End a run; of one that another process works on the state may still be the old one."""
        paths = await asyncio.to_thread(self.find, run_id)
        message = await asyncio.to_thread(lambda: self.desk.cancel(paths, reason, key=key))
        if message is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(CANCEL_SECONDS):
                    await self.attendance.cancel(run_id)
        await asyncio.to_thread(self.record, paths)
        return (await asyncio.to_thread(read_view, paths, self.ports)).state

    async def recover(self, accepted: Sequence[str] | None = None) -> None:
        """Go on with everything that was taken on and not finished, whatever ended the process before."""
        left = list(accepted) if accepted is not None else self._noted()
        here = runs_root(self.home.workspace_root)
        if here.is_dir():
            await asyncio.to_thread(refresh, self.ledger.index, [here], self.ports)
        await asyncio.to_thread(self._claims.forget_old)
        while left:
            locked: list[str] = []
            for run_id in left:
                while len(self.attendance) >= MAX_OPEN:
                    await self.attendance.anybody_done()
                if self.attendance.stopping:
                    return
                if not await self._recover(run_id):
                    locked.append(run_id)
            left = locked  # whoever holds them now may only look, or be killed before it is done
            await asyncio.sleep(LOOK_AGAIN_SECONDS if left else 0)

    def start(self, stopping: asyncio.Event | None = None) -> None:
        """Begin what goes on beside requests; streams of events end as soon as the service is told to stop."""
        # Looked up before the first order comes: a run that is noted and not made yet is none that was lost.
        beside = [self.recover(self._noted()), self.attendance.watch()]
        for work in beside if stopping is None else [*beside, self._end_streams(stopping)]:
            self._keep(asyncio.create_task(work))

    def _noted(self) -> list[str]:
        return [run_id for run_id, _ in self._accepted.all()]

    async def close(self) -> None:
        """Stop all work so that it can go on later, and return when nothing of it runs any more."""
        self.attendance.stopping = True
        await self.streams.close()
        for task in tuple(self._background):
            task.cancel()
        if self._background:
            await asyncio.wait(self._background)
        await self.attendance.stop()
        await self._agents.close()

    async def _create(self, order: RunRequest, caller: str, key: str | None) -> Made:
        run_id = check_id(order.run_id, "run") if order.run_id else RandomIds().new("run")
        if run_id in RESERVED:
            raise ValidationFailed(f"no run can be called `{run_id}`", hint="choose another id, or none")
        if key is not None:
            wanted = KeyedRun(run_id, order.digest)
            run_id = (await asyncio.to_thread(self._claims.claim, caller, key, wanted)).run_id
        async with self.attendance.alone(run_id):
            if key is not None and await asyncio.to_thread(self._exists, run_id):
                await self._go_on_alone(run_id)
                return Made(run_id, new=False)
            # Noted first: a run that is made and then lost sight of would never be worked on.
            fresh = await asyncio.to_thread(self._accepted.add, run_id, Accepted(run_id))
            try:
                opened = await asyncio.to_thread(self._maker.make, order, run_id)
            except BaseException:
                if fresh:
                    self._accepted.drop(run_id)
                if key is not None:
                    self._claims.release(caller, key, run_id)
                raise
            await self.attendance.submit(opened)
        return Made(run_id, new=True)

    async def _resume(self, run_id: str, wishes: RunOverrides | None) -> None:
        paths = await asyncio.to_thread(self.find, run_id)
        async with self.attendance.alone(run_id):
            if run_id in self.attendance:
                raise LogLocked(f"the run `{run_id}` is being worked on already", run_id=run_id)
            opened = await asyncio.to_thread(self._maker.open, paths, wishes)
            await asyncio.to_thread(self._accepted.put, run_id, Accepted(run_id))
            await self.attendance.submit(opened)

    async def _go_on(self, run_id: str) -> bool:
        async with self.attendance.alone(run_id):
            return await self._go_on_alone(run_id)

    async def _go_on_alone(self, run_id: str) -> bool:
        """Work on a run again, unless somebody does, or it waits for something else; false where it is held."""
        if run_id in self.attendance or self.attendance.stopping:
            return True  # who attends to it looks into the inbox when it stops
        paths = await asyncio.to_thread(self.find, run_id)
        state = (await asyncio.to_thread(read_view, paths, self.ports)).state
        if not should_resume(state, self.ledger.inbox.pending(run_id)):
            return True
        await asyncio.to_thread(self._accepted.put, run_id, Accepted(run_id))
        with suppress(LogEnded):
            try:
                await self.attendance.submit(await asyncio.to_thread(self._maker.open, paths))
            except LogLocked:  # another process works on it, and takes it in
                return False
        return True

    async def _recover(self, run_id: str) -> bool:
        """Go on with a run, if it should; false where it is held by somebody and has to be tried again."""
        try:
            await asyncio.to_thread(self._tidy, run_id)
            if (await asyncio.to_thread(self._ended_or_not, run_id)).open:
                return await self._go_on(run_id)
        except NotFound:
            await self._forget_unmade(run_id)
        except SkillsRuntimeError as error:
            self.attendance.troubles[run_id] = error
        return True

    async def _forget_unmade(self, run_id: str) -> None:
        """Forget a run that was noted before the process ended, unless whoever ordered it has come again meanwhile."""
        async with self.attendance.alone(run_id):
            if not await asyncio.to_thread(self._exists, run_id):
                self._accepted.drop(run_id)

    def _tidy(self, run_id: str) -> None:
        """Do for a run that ended what its process, killed right then, could not do any more."""
        paths = self.find(run_id)
        state = read_view(paths, self.ports).state
        if not state.open:
            with suppress(LogLocked):
                catch_up(paths, state, self.ports)

    def _ended_or_not(self, run_id: str) -> RunState:
        """The state of a run; one that has ended is not to be recovered any more."""
        state = self.view(run_id).state
        if not state.open:
            self._accepted.drop(run_id)
        return state

    def _whose_turn(self, run_id: str) -> str:
        """The run that goes on: what a sub-agent does is worked on by the run that began it."""
        state = self.view(run_id).state
        while state.parent_run_id is not None and state.fork is None:
            try:
                above = self.view(state.parent_run_id).state
            except NotFound:
                break
            if not above.open:
                break
            state = above
        return state.run_id

    def _exists(self, run_id: str) -> bool:
        try:
            self.find(run_id)
        except NotFound:
            return False
        return True

    def _check_room(self) -> None:
        if self.attendance.stopping:
            raise Busy("the service is about to stop")
        if len(self.attendance) >= MAX_OPEN:
            raise Busy(f"{len(self.attendance)} runs are under way or wait for their turn")

    async def _end_streams(self, stopping: asyncio.Event) -> None:
        await stopping.wait()
        await self.streams.close()

    async def _to_the_end(self, work: Coroutine[Any, Any, T]) -> T:
        """Do it even if whoever asked goes away: a run that is half opened belongs to nobody."""
        task = asyncio.create_task(work)
        self._keep(task)
        return await asyncio.shield(task)

    def _keep(self, task: "asyncio.Task[Any]") -> None:
        self._background.add(task)
        task.add_done_callback(self._background.discard)


@asynccontextmanager
async def open_work(
    home: Workspace, *, model: Model = backend_for, stopping: asyncio.Event | None = None
) -> AsyncGenerator[Work]:
    """The work of a service; what was under way when the last one ended goes on, and so does this one's later."""
    with open_ledger(home.state, clock=SystemClock(), ids=RandomIds()) as ledger:
        streams = Streams()
        work = Work(home, ledger, log_ports(), AgentFactory(ledger.inbox, streams.heard, model=model), streams)
        work.start(stopping)
        try:
            yield work
        finally:
            await work.close()
