"""Executes skills without a model: JSON in, JSON out, each on a copy of its directory and behind a fence.

One executor serves everybody who wants a skill executed: the tool, the command line and the service.
"""

import asyncio
import builtins
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from skills_runtime.clock import SystemClock
from skills_runtime.errors import Busy, IllegalTransition, NotFound, SkillsRuntimeError, StorageFailed
from skills_runtime.executions import contract
from skills_runtime.executions.jobs import MakeFence, definition_of
from skills_runtime.executions.layout import ExecutionLayout, check_same, key_digest, not_there
from skills_runtime.executions.retention import RemovalCount, Retention, remove_expired
from skills_runtime.executions.runner import ActiveExecution, ConcurrencyLimit, ExecutionRunner, Supplies
from skills_runtime.executions.store import ExecutionIds, ExecutionRequest, ExecutionStore
from skills_runtime.executions.values import Execution, ExecutionLimits, PoolLimits, Record, Status
from skills_runtime.executions.zygotes import Pool
from skills_runtime.ports import Clock, ProcessRequest
from skills_runtime.skills import Skill

WAIT_SECONDS = 0.05
"""How often somebody looks who waits for an execution of another process."""


class Executor:
    """Executes skills, and keeps what became of them in one directory."""

    def __init__(
        self,
        path: Path,
        fence: MakeFence,
        *,
        limits: ExecutionLimits | None = None,
        pool: PoolLimits | None = None,
        supplies: Supplies | None = None,
    ) -> None:
        self.limits = limits or ExecutionLimits()
        self._place = ExecutionLayout(path)
        self._fence = fence
        self._pool_limits = pool or PoolLimits()
        self._supplies = supplies or Supplies()
        self._opening = asyncio.Lock()
        self._slots = ConcurrencyLimit(self._pool_limits)
        self._opened: tuple[ExecutionStore, Pool, ExecutionRunner] | None = None
        self._lives: set[ActiveExecution] = set()
        self._by_key: dict[str, ActiveExecution] = {}
        self._closed = False

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    @property
    def under_way(self) -> tuple[int, int]:
        """How many executions are running here, and how many wait for their turn."""
        return self._slots.running, self._slots.waiting

    @property
    def waiting_processes(self) -> int:
        """How many processes are kept for executions, at work or not."""
        return self._opened[1].size if self._opened is not None else 0

    async def open(self) -> None:
        """Make the place, and settle what somebody left there who was killed; everything else does it when needed."""
        await self._open()

    async def execute(
        self,
        skill: Skill,
        value: Any,
        *,
        key: str | None = None,
        timeout_ms: int | None = None,
        within: ExecutionIds | None = None,
    ) -> Execution:
        """Execute a skill and wait for its end; a caller who gives up ends it.

        The same key with the same skill and input gets the same execution, another request under it is a conflict.
        What goes wrong in the skill is part of the value; what keeps it from starting is raised.
        """
        run, limits = definition_of(skill), self.limits
        data = contract.input_text(value, limit=limits.input_bytes)
        request = ExecutionRequest(
            skill=skill,
            run=run,
            data=data,
            request=contract.request_digest(skill.mention.text, data),
            timeout_ms=contract.allowed_time(
                timeout_ms, run.timeout_ms, default=limits.timeout_ms, longest=limits.max_timeout_ms
            ),
            key=key_digest(key) if key is not None else None,
            within=within or ExecutionIds(),
        )
        keeper = await self._open()
        if request.key is not None:
            execution = await self._known_by_key(keeper, request.key, request.request)
            if execution is not None:
                return execution
        return await self._launch(request).follow()

    async def get(self, execution_id: str) -> Execution:
        """An execution, under way or not."""
        keeper = await self._open()
        return await asyncio.to_thread(keeper.load, execution_id)

    def directory(self, execution_id: str) -> Path:
        """Where the files of an execution are."""
        directory = self._place.directory(execution_id)
        if not directory.is_dir():
            raise not_there(execution_id)
        return directory

    async def list(
        self, *, limit: int = 100, after: str | None = None, status: Status | None = None, skill: str | None = None
    ) -> Sequence[Record]:
        """Executions, the newest first, following the one whose id is given."""
        await self._open()
        return await asyncio.to_thread(self._listed, limit, after, status, skill)

    async def cancel(self, execution_id: str) -> Execution:
        """End an execution and return it; one that has ended, or that another process runs, stays as it is."""
        for live in self._lives:
            if live.execution_id == execution_id:
                live.end()
                return await live.follow()
        return await self.get(execution_id)

    async def forget(self, execution_id: str) -> None:
        """Remove an execution that has ended, with everything it left."""
        execution = await self.get(execution_id)
        if execution.status == "running":
            raise IllegalTransition(f"the execution `{execution_id}` is still running", hint="cancel it first")
        keeper = await self._open()
        await asyncio.to_thread(keeper.forget, execution.record)

    async def tidy(self, keep: Retention, clock: Clock | None = None) -> RemovalCount:
        """Remove what has ended and need not be kept any longer."""
        return await remove_expired(await self._open(), keep, clock or SystemClock())

    async def aclose(self) -> None:
        """End everything that is under way, and every process that waits."""
        self._closed = True
        for live in tuple(self._lives):
            live.end()
        while tasks := [live.task for live in self._lives]:
            await asyncio.wait(tasks)
        async with self._opening:
            if self._opened is not None:
                keeper, pool, performer = self._opened
                self._opened = None
                await pool.aclose()
                performer.close()
                await asyncio.to_thread(keeper.close)

    async def _open(self) -> ExecutionStore:
        async with self._opening:
            if self._closed:
                raise Busy("executions are being shut down")
            if self._opened is None:
                keeper = await asyncio.to_thread(self._open_store)
                pool = Pool(keeper.stages, self._fence, self._pool_limits)
                performer = ExecutionRunner(keeper, pool, self._fence, self._supplies, threads=self._slots.most)
                self._opened = (keeper, pool, performer)
            return self._opened[0]

    def _open_store(self) -> ExecutionStore:
        self._place.make()
        stages = self._supplies.stages
        if stages is not None:  # a directory that no fence can be put around is not used
            probe = stages / f"probe-{os.getpid()}"
            try:
                probe.mkdir(mode=0o700)
                self._fence(probe).plan(ProcessRequest(argv=("/bin/sh",), cwd=probe))
            except (SkillsRuntimeError, OSError):
                stages = None
            finally:
                with suppress(OSError):
                    probe.rmdir()
                    if stages is None:
                        probe.parent.rmdir()
        keeper = ExecutionStore(self._place, self.limits, stages)
        keeper.recover()
        return keeper

    def _listed(self, limit: int, after: str | None, status: Status | None, skill: str | None) -> Sequence[Record]:
        layout = self._place
        ordered = sorted(map(layout.order, layout.ids()), reverse=True)
        mark = layout.order(after) if after is not None else None
        records: builtins.list[Record] = []
        for when in ordered:
            if len(records) >= limit:
                break
            if mark is not None and when >= mark:
                continue
            try:
                record = layout.read(when[1])
            except NotFound:  # it is just being begun, or removed
                continue
            if status in (None, record.status) and skill in (None, record.skill):
                records.append(record)
        return records

    async def _known_by_key(self, keeper: ExecutionStore, key: str, request: str) -> Execution | None:
        """The execution that a key stands for, waited for if it is under way."""
        if key not in self._by_key:
            found = await asyncio.to_thread(keeper.found_by_key, key, request)
            if found is not None and key not in self._by_key:
                with suppress(NotFound):  # it was removed meanwhile, which frees the key
                    return await self._settled(keeper, found)
        live = self._by_key.get(key)
        if live is None:
            return None
        check_same(live.request, request)
        return await live.follow()

    async def _settled(self, keeper: ExecutionStore, execution_id: str) -> Execution:
        """An execution when it has ended, whoever runs it."""
        while True:
            execution = await asyncio.to_thread(keeper.load, execution_id)
            if execution.status != "running":
                return execution
            if not await asyncio.to_thread(keeper.is_run_by_somebody, execution.record):
                await asyncio.to_thread(keeper.settle, execution_id)
            else:
                await asyncio.sleep(WAIT_SECONDS)

    def _launch(self, request: ExecutionRequest) -> ActiveExecution:
        live = ActiveExecution(request.request)
        self._lives.add(live)
        if request.key is not None:
            self._by_key[request.key] = live
        live.task = asyncio.get_running_loop().create_task(self._carry_out(request, live))

        def done(_: asyncio.Task[Execution]) -> None:
            self._lives.discard(live)
            if request.key is not None:
                self._by_key.pop(request.key, None)

        live.task.add_done_callback(done)
        return live

    async def _carry_out(self, request: ExecutionRequest, live: ActiveExecution) -> Execution:
        async with self._slots.one():
            assert self._opened is not None, "it is closed only when nothing is under way"
            keeper, _, performer = self._opened
            program = await performer.program(request.skill)
            live.begun = True
            try:
                done = await performer.perform(request, program, live)
            except OSError as error:
                raise StorageFailed(
                    f"the execution cannot be kept: {os.strerror(error.errno or 0)}",
                    hint="make room where executions are kept",
                ) from error
        return await self._settled(keeper, done) if isinstance(done, str) else done
