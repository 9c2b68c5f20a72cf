"""Execute skills without a model: JSON in, JSON out, each on a copy of its directory and in a sandbox.

The tool, the command line and the service share one executor.
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
from skills_runtime.executions.jobs import MakeSandbox, require_run_definition
from skills_runtime.executions.layout import ExecutionLayout, check_same_request, key_digest, not_found_error
from skills_runtime.executions.retention import RemovalCount, Retention, remove_expired
from skills_runtime.executions.runner import ActiveExecution, ConcurrencyLimit, ExecutionRunner, Supplies
from skills_runtime.executions.store import ExecutionIds, ExecutionRequest, ExecutionStore
from skills_runtime.executions.values import Execution, ExecutionLimits, PoolLimits, Record, Status
from skills_runtime.executions.zygotes import Pool
from skills_runtime.ports import Clock, ProcessRequest
from skills_runtime.skills import Skill

WAIT_SECONDS = 0.05
"""How often to poll for the end of an execution that another process runs."""


class Executor:
    """Execute skills and store the results in one directory."""

    def __init__(
        self,
        path: Path,
        make_sandbox: MakeSandbox,
        *,
        limits: ExecutionLimits | None = None,
        pool: PoolLimits | None = None,
        supplies: Supplies | None = None,
    ) -> None:
        self.limits = limits or ExecutionLimits()
        self._layout = ExecutionLayout(path)
        self._make_sandbox = make_sandbox
        self._pool_limits = pool or PoolLimits()
        self._supplies = supplies or Supplies()
        self._opening = asyncio.Lock()
        self._slots = ConcurrencyLimit(self._pool_limits)
        self._state: tuple[ExecutionStore, Pool, ExecutionRunner] | None = None
        self._active: set[ActiveExecution] = set()
        self._by_key: dict[str, ActiveExecution] = {}
        self._closed = False

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    @property
    def under_way(self) -> tuple[int, int]:
        """Return how many executions are running here, and how many wait for a slot."""
        return self._slots.running, self._slots.waiting

    @property
    def waiting_processes(self) -> int:
        """Return the number of warm processes, busy or idle."""
        return self._state[1].size if self._state is not None else 0

    async def open(self) -> None:
        """Create the directory and recover executions of killed processes; other resources are created when needed."""
        await self._open()

    async def execute(
        self,
        skill: Skill,
        value: Any,
        *,
        key: str | None = None,
        timeout_ms: int | None = None,
        ids: ExecutionIds | None = None,
    ) -> Execution:
        """Execute a skill and wait for its end; cancelling the caller ends the execution.

        The same key with the same skill and input returns the same execution; another request under it is a conflict.
        A failure of the skill is part of the returned value; a failure to start it is raised.
        """
        run, limits = require_run_definition(skill), self.limits
        data = contract.encode_input(value, limit=limits.input_bytes)
        request = ExecutionRequest(
            skill=skill,
            run=run,
            data=data,
            request=contract.request_digest(skill.mention.text, data),
            timeout_ms=contract.resolve_timeout(
                timeout_ms, run.timeout_ms, default=limits.timeout_ms, longest=limits.max_timeout_ms
            ),
            key=key_digest(key) if key is not None else None,
            ids=ids or ExecutionIds(),
        )
        store = await self._open()
        if request.key is not None:
            execution = await self._find_by_key(store, request.key, request.request)
            if execution is not None:
                return execution
        return await self._launch(request).wait()

    async def get(self, execution_id: str) -> Execution:
        """Return an execution, running or ended."""
        store = await self._open()
        return await asyncio.to_thread(store.load, execution_id)

    def directory(self, execution_id: str) -> Path:
        """Return the directory of an execution's files."""
        directory = self._layout.directory(execution_id)
        if not directory.is_dir():
            raise not_found_error(execution_id)
        return directory

    async def list(
        self, *, limit: int = 100, after: str | None = None, status: Status | None = None, skill: str | None = None
    ) -> Sequence[Record]:
        """List executions, the newest first, after the one with the given id."""
        await self._open()
        return await asyncio.to_thread(self._list_records, limit, after, status, skill)

    async def cancel(self, execution_id: str) -> Execution:
        """Cancel an execution and return it; one that has ended, or runs in another process, is returned unchanged."""
        for active in self._active:
            if active.execution_id == execution_id:
                active.cancel()
                return await active.wait()
        return await self.get(execution_id)

    async def forget(self, execution_id: str) -> None:
        """Remove an ended execution with all its files."""
        execution = await self.get(execution_id)
        if execution.status == "running":
            raise IllegalTransition(f"the execution `{execution_id}` is still running", hint="cancel it first")
        store = await self._open()
        await asyncio.to_thread(store.forget, execution.record)

    async def tidy(self, keep: Retention, clock: Clock | None = None) -> RemovalCount:
        """Remove ended executions that exceed the retention."""
        return await remove_expired(await self._open(), keep, clock or SystemClock())

    async def aclose(self) -> None:
        """Cancel all running executions and end all warm processes."""
        self._closed = True
        for active in tuple(self._active):
            active.cancel()
        while tasks := [active.task for active in self._active]:
            await asyncio.wait(tasks)
        async with self._opening:
            if self._state is not None:
                store, pool, runner = self._state
                self._state = None
                await pool.aclose()
                runner.close()
                await asyncio.to_thread(store.close)

    async def _open(self) -> ExecutionStore:
        async with self._opening:
            if self._closed:
                raise Busy("executions are being shut down")
            if self._state is None:
                store = await asyncio.to_thread(self._open_store)
                pool = Pool(store.stages, self._make_sandbox, self._pool_limits)
                runner = ExecutionRunner(store, pool, self._make_sandbox, self._supplies, threads=self._slots.limit)
                self._state = (store, pool, runner)
            return self._state[0]

    def _open_store(self) -> ExecutionStore:
        self._layout.make()
        stages = self._supplies.stages
        if stages is not None:  # a directory that cannot be sandboxed is not used
            probe = stages / f"probe-{os.getpid()}"
            try:
                probe.mkdir(mode=0o700)
                self._make_sandbox(probe).plan(ProcessRequest(argv=("/bin/sh",), cwd=probe))
            except (SkillsRuntimeError, OSError):
                stages = None
            finally:
                with suppress(OSError):
                    probe.rmdir()
                    if stages is None:
                        probe.parent.rmdir()
        store = ExecutionStore(self._layout, self.limits, stages)
        store.recover()
        return store

    def _list_records(
        self, limit: int, after: str | None, status: Status | None, skill: str | None
    ) -> Sequence[Record]:
        layout = self._layout
        ordered = sorted(map(layout.order, layout.ids()), reverse=True)
        cursor = layout.order(after) if after is not None else None
        records: builtins.list[Record] = []
        for position in ordered:
            if len(records) >= limit:
                break
            if cursor is not None and position >= cursor:
                continue
            try:
                record = layout.read(position[1])
            except NotFound:  # it is being created or removed
                continue
            if status in (None, record.status) and skill in (None, record.skill):
                records.append(record)
        return records

    async def _find_by_key(self, store: ExecutionStore, key: str, request: str) -> Execution | None:
        """Return the execution of a key, waiting for its end if it is running."""
        if key not in self._by_key:
            execution_id = await asyncio.to_thread(store.find_by_key, key, request)
            if execution_id is not None and key not in self._by_key:
                with suppress(NotFound):  # it was removed meanwhile, which frees the key
                    return await self._wait_until_settled(store, execution_id)
        active = self._by_key.get(key)
        if active is None:
            return None
        check_same_request(active.request, request)
        return await active.wait()

    async def _wait_until_settled(self, store: ExecutionStore, execution_id: str) -> Execution:
        """Wait until an execution has ended, also in another process, and return it."""
        while True:
            execution = await asyncio.to_thread(store.load, execution_id)
            if execution.status != "running":
                return execution
            if not await asyncio.to_thread(store.is_owner_alive, execution.record):
                await asyncio.to_thread(store.mark_interrupted, execution_id)
            else:
                await asyncio.sleep(WAIT_SECONDS)

    def _launch(self, request: ExecutionRequest) -> ActiveExecution:
        active = ActiveExecution(request.request)
        self._active.add(active)
        if request.key is not None:
            self._by_key[request.key] = active
        active.task = asyncio.get_running_loop().create_task(self._run(request, active))

        def on_done(_: asyncio.Task[Execution]) -> None:
            self._active.discard(active)
            if request.key is not None:
                self._by_key.pop(request.key, None)

        active.task.add_done_callback(on_done)
        return active

    async def _run(self, request: ExecutionRequest, active: ActiveExecution) -> Execution:
        async with self._slots.slot():
            assert self._state is not None, "it is closed only when nothing is under way"
            store, _, runner = self._state
            program = await runner.program(request.skill)
            active.has_record = True
            try:
                result = await runner.run(request, program, active)
            except OSError as error:
                raise StorageFailed(
                    f"the execution cannot be kept: {os.strerror(error.errno or 0)}",
                    hint="make room where executions are kept",
                ) from error
        return await self._wait_until_settled(store, result) if isinstance(result, str) else result
