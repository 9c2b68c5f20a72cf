"""The runs of a service, from the order to the end: accepted durably, worked on in turns, recovered after a crash."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec

from skills_runtime.agent.assemble import log_ports
from skills_runtime.clock import RandomIds, SystemClock
from skills_runtime.engine import Desk, LocalDispatcher, read_row
from skills_runtime.errors import Busy, LogEnded, LogLocked, NotFound, RunExists, SkillsRuntimeError
from skills_runtime.events.states import RunStatus
from skills_runtime.ledger import Ledger, open_ledger
from skills_runtime.projections import RunState, RunView
from skills_runtime.runs import LogPorts, RunPaths, check_id, read_view
from skills_runtime.service.streams import Streams
from skills_runtime.service.work.agents import Agents, Model
from skills_runtime.service.work.claims import Claim, Claims
from skills_runtime.service.work.home import Home
from skills_runtime.service.work.making import Maker, Opened
from skills_runtime.service.work.notes import Notes
from skills_runtime.service.work.orders import Order, Wishes
from skills_runtime.service.work.recovery import goes_on, wants_work
from skills_runtime.service.work.turns import dispatcher_for

DEFAULT_TURNS = 8
MAX_OPEN = 256
"""Runs that are worked on or wait for their turn; an order more is refused."""
WATCH_SECONDS = 0.05
CANCEL_SECONDS = 10.0


class Accepted(msgspec.Struct, frozen=True):
    """A run the service has taken on and that had not ended when this was written."""

    run_id: str


class Made(msgspec.Struct, frozen=True):
    """The run of an order, and whether it is a new one."""

    run_id: str
    new: bool


class Work:
    """Every run this service works on; made by `open_work`."""

    def __init__(self, home: Home, ledger: Ledger, ports: LogPorts, agents: Agents, streams: Streams) -> None:
        self.home = home
        self.ledger = ledger
        self.ports = ports
        self.streams = streams
        self.desk = Desk(ledger.inbox, ports)
        self.troubles: dict[str, SkillsRuntimeError] = {}
        """Why runs that were taken on are not worked on."""
        self._agents = agents
        self._maker = Maker(home, ledger.index, ports, agents)
        self._claims = Claims(home)
        self._accepted = Notes(home.notes / "accepted", Accepted)
        self._turns = asyncio.Semaphore(DEFAULT_TURNS)
        self._dispatchers: dict[str, LocalDispatcher] = {}
        self._attending: dict[str, asyncio.Task[None]] = {}
        self._opening: dict[str, asyncio.Lock] = {}
        self._background: set[asyncio.Task[Any]] = set()
        self._stopping = False

    @property
    def under_way(self) -> int:
        """How many runs are worked on or wait for their turn."""
        return len(self._attending)

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

    async def create(self, order: Order, *, caller: str = "", key: str | None = None) -> Made:
        """Take on an order; when this returns the run is on the disk, and it is worked on even after a crash."""
        self._check_room()
        run_id = check_id(order.run_id, "run") if order.run_id else RandomIds().new("run")
        if key is not None:
            wanted = Claim(run_id, order.digest)
            run_id = (await asyncio.to_thread(self._claims.claim, caller, key, wanted)).run_id
        async with self._alone(run_id):
            if key is not None and await asyncio.to_thread(self._exists, run_id):
                await self._go_on_quietly(run_id)
                return Made(run_id, new=False)
            try:
                # Noted first: a run that is made and then lost sight of would never be worked on.
                fresh = await asyncio.to_thread(self._accepted.add, run_id, Accepted(run_id))
                try:
                    opened = await asyncio.to_thread(self._maker.make, order, run_id)
                except RunExists:
                    raise
                except BaseException:
                    if fresh:
                        self._accepted.drop(run_id)
                    raise
            except BaseException:
                if key is not None:
                    await asyncio.to_thread(self._claims.release, caller, key, run_id)
                raise
            await self._submit(opened)
        return Made(run_id, new=True)

    async def resume(self, run_id: str, wishes: Wishes | None = None) -> None:
        """Go on with a run that waits, was stopped or was left by its process."""
        self._check_room()
        paths = await asyncio.to_thread(self.find, run_id)
        async with self._alone(run_id):
            if run_id in self._attending:
                raise LogLocked(f"the run `{run_id}` is being worked on already")
            await asyncio.to_thread(self._accepted.put, run_id, Accepted(run_id))
            await self._submit(await asyncio.to_thread(self._maker.open, paths, wishes))

    async def go_on(self, run_id: str) -> None:
        """Let a run take in what was just said to it, if it only waited for that."""
        target = await asyncio.to_thread(self._whose_turn, run_id)
        async with self._alone(target):
            await self._go_on_quietly(target)

    async def cancel(self, run_id: str, reason: str, *, key: str | None = None) -> RunState:
        """End a run; of one that another process works on the state may still be the old one."""
        paths = await asyncio.to_thread(self.find, run_id)
        message = await asyncio.to_thread(lambda: self.desk.cancel(paths, reason, key=key))
        dispatcher = self._dispatchers.get(run_id)
        if message is None:
            await asyncio.to_thread(self.record, paths)
        elif dispatcher is not None:
            with suppress(TimeoutError, NotFound):
                async with asyncio.timeout(CANCEL_SECONDS):
                    await dispatcher.cancel(run_id)
        return (await asyncio.to_thread(read_view, paths, self.ports)).state

    async def recover(self) -> None:
        """Go on with everything that was taken on and not finished, whatever ended the process before."""
        notes = await asyncio.to_thread(lambda: list(self._accepted.all()))
        for run_id, _ in notes:
            while len(self._attending) >= MAX_OPEN:
                await asyncio.wait(self._attending.values(), return_when=asyncio.FIRST_COMPLETED)
            if self._stopping:
                return
            async with self._alone(run_id):
                await self._recover(run_id)

    def start(self) -> None:
        """Begin what goes on beside requests: recovery, and looking for cancellations from other processes."""
        for work in (self.recover(), self._watch()):
            self._keep(asyncio.create_task(work))

    def end_streams_with(self, stopping: asyncio.Event) -> None:
        """End all streams of events as soon as the service is told to stop, for they never end by themselves."""

        async def end() -> None:
            await stopping.wait()
            await self.streams.close()

        self._keep(asyncio.create_task(end()))

    async def close(self) -> None:
        """Stop all work so that it can go on later, and return when nothing of it runs any more."""
        self._stopping = True
        await self.streams.close()
        for task in tuple(self._background):
            task.cancel()
        for run_id, dispatcher in tuple(self._dispatchers.items()):
            with suppress(NotFound):
                await dispatcher.stop(run_id)
        if self._attending:
            await asyncio.wait(self._attending.values())
        await self._agents.close()

    async def _submit(self, opened: Opened) -> None:
        run_id = opened.run.state.run_id
        dispatcher = dispatcher_for(opened.agent, self.ledger.index, self._turns)
        await dispatcher.submit(opened.run)
        self.troubles.pop(run_id, None)
        self._dispatchers[run_id] = dispatcher
        if run_id not in self._attending:
            self._attending[run_id] = asyncio.create_task(self._attend(run_id), name=f"attend {run_id}")

    async def _attend(self, run_id: str) -> None:
        """See a run through: to its end, or to where it waits for somebody."""
        try:
            while True:
                await self._dispatchers[run_id].result(run_id)
                async with self._alone(run_id):
                    paths = await asyncio.to_thread(self.find, run_id)
                    state = (await asyncio.to_thread(read_view, paths, self.ports)).state
                    if not state.open:
                        self._accepted.drop(run_id)
                    if self._stopping or not goes_on(state, self.ledger.inbox.pending(run_id)):
                        self._leave(run_id)
                        return
                    await self._submit(await asyncio.to_thread(self._maker.open, paths))
        except (SkillsRuntimeError, OSError) as error:
            self.troubles[run_id] = _ours(error)
        finally:
            self._leave(run_id)

    def _leave(self, run_id: str) -> None:
        self._attending.pop(run_id, None)
        self._dispatchers.pop(run_id, None)

    async def _recover(self, run_id: str) -> None:
        try:
            paths = await asyncio.to_thread(self.find, run_id)
            state = (await asyncio.to_thread(read_view, paths, self.ports)).state
            if not state.open:
                self._accepted.drop(run_id)
            elif wants_work(state, self.ledger.inbox.pending(run_id)) and run_id not in self._attending:
                await self._submit(await asyncio.to_thread(self._maker.open, paths))
            await asyncio.to_thread(self.record, paths)
        except NotFound:
            self._accepted.drop(run_id)  # it was noted, and the process ended before the run was made
        except (LogLocked, LogEnded):
            return
        except (SkillsRuntimeError, OSError) as error:
            self.troubles[run_id] = _ours(error)

    async def _go_on_quietly(self, run_id: str) -> None:
        """Work on a run again, unless somebody does, or it waits for something else."""
        if run_id in self._attending:
            return  # who attends to it looks into the inbox when it stops
        paths = await asyncio.to_thread(self.find, run_id)
        state = (await asyncio.to_thread(read_view, paths, self.ports)).state
        if not wants_work(state, self.ledger.inbox.pending(run_id)) or self._stopping:
            return
        await asyncio.to_thread(self._accepted.put, run_id, Accepted(run_id))
        with suppress(LogLocked, LogEnded):
            await self._submit(await asyncio.to_thread(self._maker.open, paths))

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

    async def _watch(self) -> None:
        """Obey cancellations that other processes left in the inbox."""
        seen: int | None = None
        while True:
            with suppress(SkillsRuntimeError):  # one that is busy is looked into the next time
                version = self.ledger.inbox.version()
                if version != seen:
                    for run_id, dispatcher in tuple(self._dispatchers.items()):
                        if any(one.kind == "cancel" for one in self.ledger.inbox.pending(run_id)):
                            self._keep(asyncio.create_task(dispatcher.cancel(run_id)))
                seen = version
            await asyncio.sleep(WATCH_SECONDS)

    @asynccontextmanager
    async def _alone(self, run_id: str) -> AsyncGenerator[None]:
        """One at a time opens a run."""
        lock = self._opening.setdefault(run_id, asyncio.Lock())
        try:
            async with lock:
                yield
        finally:
            if not lock.locked():
                self._opening.pop(run_id, None)

    def _check_room(self) -> None:
        if self._stopping:
            raise Busy("the service is about to stop")
        if len(self._attending) >= MAX_OPEN:
            raise Busy(f"{len(self._attending)} runs are under way or wait for their turn")

    def _keep(self, task: "asyncio.Task[Any]") -> None:
        self._background.add(task)
        task.add_done_callback(self._background.discard)
