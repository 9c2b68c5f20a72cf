"""Run executions: limit concurrency, share an execution between its waiters, and use a warm or a new process."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from skills_runtime.errors import Busy, NotFound, SkillsRuntimeError
from skills_runtime.executions.jobs import (
    SKILL,
    Job,
    JobOutcome,
    MakeEgressCallbacks,
    MakeSandbox,
    Packages,
    Program,
    Stop,
    build_environment,
    can_be_warm,
    plan_job,
    refuse_network,
    resolve_program,
    run_fresh,
)
from skills_runtime.executions.store import ExecutionRequest, ExecutionStore, StartedExecution
from skills_runtime.executions.values import Execution, PoolLimits
from skills_runtime.executions.zygotes import Pool, Unusable, Zygote, ZygoteKind
from skills_runtime.ports import SandboxPlan
from skills_runtime.processes import build_command, find_program
from skills_runtime.skills import Skill


class ActiveExecution:
    """A running execution and the number of its waiters."""

    def __init__(self, request: str) -> None:
        self.request = request
        self.stop = Stop()
        self.execution_id: str | None = None
        self.has_record = False
        """Whether a record exists that must be finished."""
        self.task: asyncio.Task[Execution]
        self._waiting = 0

    async def wait(self) -> Execution:
        """Wait for the end; the execution is ended when its last waiter is cancelled."""
        self._waiting += 1
        try:
            return await asyncio.shield(self.task)
        except asyncio.CancelledError:
            if self.task.cancelled():
                raise Busy("executions are being shut down") from None
            if self._waiting == 1:
                self.cancel()
                await wait_uncancelled(self.task)
            raise
        finally:
            self._waiting -= 1

    def cancel(self) -> None:
        """Cancel the execution; one that has not started never starts."""
        self.stop.set("cancelled")
        if not self.has_record:
            self.task.cancel()


async def wait_uncancelled(task: "asyncio.Future[Any]") -> None:
    """Wait until a future is done, ignoring cancellation meanwhile."""
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            continue
    if not task.cancelled():
        task.exception()  # retrieve the exception, or asyncio would log it


class ConcurrencyLimit:
    """Limits how many executions run and wait at the same time."""

    def __init__(self, limits: PoolLimits) -> None:
        self.limit = limits.concurrent or 2 * (os.cpu_count() or 1)
        self._free = asyncio.Semaphore(self.limit)
        self._max_waiting = limits.waiting
        self.waiting = 0
        self.running = 0

    @asynccontextmanager
    async def slot(self) -> AsyncGenerator[None]:
        """Wait for a slot; raise `Busy` if too many are waiting."""
        if self._free.locked() and self.waiting >= self._max_waiting:
            raise Busy(f"{self.waiting} executions wait already", details={"retry_after_ms": 1000})
        self.waiting += 1
        try:
            await self._free.acquire()
        finally:
            self.waiting -= 1
        self.running += 1
        try:
            yield
        finally:
            self.running -= 1
            self._free.release()


PYTHON = "python3"
TYPESCRIPT = ("tsx", "ts-node")
T = TypeVar("T")
Variables = Callable[[Skill], Mapping[str, str]]
"""Returns the variables that a skill declares, with their values."""


class Supplies(msgspec.Struct, frozen=True, kw_only=True):
    """Dependencies of executions that the caller provides."""

    variables: Variables = lambda _: {}
    packages: Packages | None = None
    """None runs scripts without the packages they declare."""
    egress_callbacks: MakeEgressCallbacks = refuse_network
    """Observes the network access of skills, where the sandbox allows any."""
    network: MakeSandbox | None = None
    """The sandbox of skills that declare network access; None gives them none."""
    stages: Path | None = None
    """The directory that executions work in; None means beside their records."""


class ExecutionRunner:
    """Runs executions for one store."""

    def __init__(
        self,
        store: ExecutionStore,
        pool: Pool,
        make_sandbox: MakeSandbox,
        supplies: Supplies,
        *,
        threads: int,
    ) -> None:
        self._store = store
        self._pool = pool
        self._make_sandbox = make_sandbox
        self._supplies = supplies
        policy = getattr(make_sandbox(store.stages), "policy", None)
        self._policy = policy.digest if policy is not None else ""
        self._shared: dict[Path, asyncio.Lock] = {}
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="execution")

    async def program(self, skill: Skill) -> Program:
        """Resolve the command of the skill and provide its packages."""
        return await resolve_program(skill, self._supplies.packages)

    async def run(self, request: ExecutionRequest, program: Program, active: ActiveExecution) -> Execution | str:
        """Run the skill and finish the execution; return another execution's id if that one claimed the key first.

        An execution of which nothing could be started is removed.
        """
        attempt = _Attempt(request, program, self._supplies.variables(request.skill), active)
        result = await self._in_thread(active, self._begin, attempt)
        if result is not None:
            return result
        execution = attempt.started
        assert execution is not None, "it has neither ended nor been done by another"
        try:
            with suppress(Unusable):
                if attempt.warm:
                    zygote = await self._pool.acquire(self._kind(attempt, execution))
                    result = await self._in_thread(active, self._run_warm, zygote, attempt, execution)
            if result is None:
                # Executions in the skill's own directory run one after another.
                shared = request.run.isolation != "copy"
                lock = self._shared.setdefault(_directory(request.skill), asyncio.Lock()) if shared else nullcontext()
                async with lock:
                    outcome = await self._run_fresh(attempt, execution)
                result = await self._in_thread(active, self._store.finish, execution, request, outcome)
        except asyncio.CancelledError:
            if not execution.finished:
                self._store.finish(execution, request, JobOutcome(ended_by="cancelled", exit_code=None))
            raise
        except BaseException:
            await self._in_thread(active, self._undo, execution, request.key)
            raise
        return result

    def close(self) -> None:
        """Shut the idle threads down."""
        self._threads.shutdown()

    def _begin(self, attempt: "_Attempt") -> Execution | str | None:
        """Start, and run in a matching idle warm process; return None if there is none."""
        started = self._store.begin(attempt.request, attempt.active.stop)
        if isinstance(started, str):
            return started
        attempt.started = started
        attempt.active.execution_id = started.record.execution_id
        if attempt.active.stop.reason is not None:
            return self._store.finish(
                started, attempt.request, JobOutcome(ended_by=attempt.active.stop.reason, exit_code=None)
            )
        zygote = self._pool.take_idle(self._kind(attempt, started)) if attempt.warm else None
        return self._run_warm(zygote, attempt, started) if zygote is not None else None

    def _run_warm(self, zygote: Zygote, attempt: "_Attempt", execution: StartedExecution) -> Execution | None:
        """Run in a warm process; return None if it turned out to be gone."""
        try:
            os.rename(execution.stage, zygote.work)  # noqa: PTH104 - one step, for each execution
            try:
                job = _job(attempt, execution, zygote.work)
                outcome = zygote.run(job, execution.sinks, attempt.active.stop)
            except Unusable:
                return None
            finally:
                with suppress(OSError):  # the skill may have removed it
                    os.rename(zygote.work, execution.stage)  # noqa: PTH104
        finally:
            self._pool.release(zygote)
        return self._store.finish(execution, attempt.request, outcome)

    def _undo(self, execution: StartedExecution, key: str | None) -> None:
        execution.sinks.close()
        self._store.undo(execution.record.execution_id, key)

    async def _in_thread(self, active: ActiveExecution, work: Callable[..., T], *arguments: Any) -> T:
        """Run in a thread; at interpreter exit, end the execution and wait for it."""
        task = asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            active.stop.set("cancelled")
            await wait_uncancelled(task)
            raise

    def _kind(self, attempt: "_Attempt", execution: StartedExecution) -> ZygoteKind:
        program = attempt.program
        return ZygoteKind(
            skill=attempt.request.skill.mention.text,
            skill_digest=execution.snapshot.digest,
            policy=self._policy,
            python=program.argv[0] if program.is_python else PYTHON,
            readable=program.readable,
        )

    async def _run_fresh(self, attempt: "_Attempt", execution: StartedExecution) -> JobOutcome:
        job = _job(attempt, execution, execution.stage)
        network_sandbox = self._supplies.network if attempt.request.run.network else None
        job, plan = await self._in_thread(
            attempt.active, self._plan, job, attempt.program, network_sandbox or self._make_sandbox
        )
        try:
            return await run_fresh(job, plan, execution.sinks, attempt.active.stop, self._supplies.egress_callbacks)
        except SkillsRuntimeError as error:
            return JobOutcome(ended_by="lost", exit_code=None, isolation=plan.evidence, note=error.message)

    def _plan(self, job: Job, program: Program, make_sandbox: MakeSandbox) -> tuple[Job, SandboxPlan]:
        """Plan the process in its sandbox; for TypeScript, use the first available runtime."""
        is_typescript = program.entry.program == "tsx"
        missing: NotFound | None = None
        for argv in ((name, program.entry.file) for name in TYPESCRIPT) if is_typescript else (program.argv,):
            candidate = job.with_argv(argv)
            try:
                plan = plan_job(candidate, make_sandbox)
                # Without a sandbox nothing has checked this yet.
                find_program(build_command(plan))
            except NotFound as error:
                missing = error
            else:
                return candidate, plan
        assert missing is not None, "there is always a command to try"
        if is_typescript:
            hint = "install one of them where the sandbox can see it: `npm install -g tsx`"
            missing = NotFound("No tsx or ts-node found for TypeScript skill", hint=hint)
        raise missing


class _Attempt:
    """One execution from its request to its end."""

    def __init__(
        self, request: ExecutionRequest, program: Program, declared: Mapping[str, str], active: ActiveExecution
    ) -> None:
        self.request = request
        self.program = program
        self.declared = declared
        self.active = active
        # Which TypeScript runtime exists is only known once the sandbox is planned.
        self.warm = can_be_warm(request.run, declared) and program.entry.program != "tsx"
        self.started: StartedExecution | None = None


def _job(attempt: _Attempt, execution: StartedExecution, stage: Path) -> Job:
    request, program = attempt.request, attempt.program
    shared = request.run.isolation == "shared"
    cwd = _directory(request.skill) if shared else stage / SKILL
    return Job(
        argv=program.argv,
        script=program.entry.file if program.is_python else None,
        workspace=stage,
        cwd=cwd,
        environment=build_environment(request.skill, execution.record.execution_id, stage, attempt.declared),
        readable=(*program.readable, *((cwd,) if shared else ())),
        stdin=request.data,
        timeout_ms=request.timeout_ms,
    )


def _directory(skill: Skill) -> Path:
    directory = skill.directory
    assert directory is not None, "it has a `skill.yaml`"
    return directory
