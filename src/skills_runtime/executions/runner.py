"""Carries executions out: how many may be under way, who waits for which, and each in a warm or a new process."""

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
    """One execution under way, and how many wait for it."""

    def __init__(self, request: str) -> None:
        self.request = request
        self.stop = Stop()
        self.execution_id: str | None = None
        self.has_record = False
        """Whether there is a record of it that has to be settled."""
        self.task: asyncio.Task[Execution]
        self._waiting = 0

    async def wait(self) -> Execution:
        """Wait for its end; when the last one who waits gives up, it is ended."""
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
        """End it; one that has not begun just does not."""
        self.stop.set("cancelled")
        if not self.has_record:
            self.task.cancel()


async def wait_uncancelled(task: "asyncio.Future[Any]") -> None:
    """Wait until something is over, however often the caller is told not to."""
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            continue
    if not task.cancelled():
        task.exception()  # looked at, so that nobody complains that it was not


class ConcurrencyLimit:
    """So many executions at a time; the others wait, as long as there are not too many."""

    def __init__(self, limits: PoolLimits) -> None:
        self.limit = limits.concurrent or 2 * (os.cpu_count() or 1)
        self._free = asyncio.Semaphore(self.limit)
        self._max_waiting = limits.waiting
        self.waiting = 0
        self.running = 0

    @asynccontextmanager
    async def slot(self) -> AsyncGenerator[None]:
        """Wait for a turn; raises `Busy` when too many do."""
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
"""The variables that a skill declares, with the values it gets."""


class Supplies(msgspec.Struct, frozen=True, kw_only=True):
    """What executions get from their caller."""

    variables: Variables = lambda _: {}
    packages: Packages | None = None
    """Nothing means that scripts run without the packages they say they need."""
    egress_callbacks: MakeEgressCallbacks = refuse_network
    """Watches the network of skills, where the fence opens it."""
    network: MakeSandbox | None = None
    """The fence of skills that declare a network; they have none either where this is left out."""
    stages: Path | None = None
    """Where executions work: beside their records, unless the caller knows a quicker place."""


class ExecutionRunner:
    """Carries out executions for one keeper."""

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
        """What the skill is started with; packages that it needs are provided."""
        return await resolve_program(skill, self._supplies.packages)

    async def run(self, request: ExecutionRequest, program: Program, active: ActiveExecution) -> Execution | str:
        """Run the skill and settle the execution; the id of another one, if that was quicker to take the key.

        It is forgotten if nothing could be started at all.
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
                # Executions in the directory of the skill itself go one after another.
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
        """Let the threads go; none of them has anything to do any more."""
        self._threads.shutdown()

    def _begin(self, attempt: "_Attempt") -> Execution | str | None:
        """Begin, and go on to the end at once if a process waits for just this; nothing where the loop has to help."""
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
        """Have a waiting process do it; nothing where that turned out to be gone."""
        try:
            os.rename(execution.stage, zygote.work)  # noqa: PTH104 - one step, for each execution
            try:
                job = _job(attempt, execution, zygote.work)
                outcome = zygote.run(job, execution.sinks, attempt.active.stop)
            except Unusable:
                return None
            finally:
                with suppress(OSError):  # a skill may have removed it
                    os.rename(zygote.work, execution.stage)  # noqa: PTH104
        finally:
            self._pool.release(zygote)
        return self._store.finish(execution, attempt.request, outcome)

    def _undo(self, execution: StartedExecution, key: str | None) -> None:
        execution.sinks.close()
        self._store.undo(execution.record.execution_id, key)

    async def _in_thread(self, active: ActiveExecution, work: Callable[..., T], *arguments: Any) -> T:
        """Have a thread do it; when the whole program is being left, the execution is ended and waited for."""
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
        """Plan the process behind its fence; of the two programs for TypeScript the first that is there is taken."""
        is_typescript = program.entry.program == "tsx"
        missing: NotFound | None = None
        for argv in ((name, program.entry.file) for name in TYPESCRIPT) if is_typescript else (program.argv,):
            candidate = job.with_argv(argv)
            try:
                plan = plan_job(candidate, make_sandbox)
                find_program(build_command(plan))  # where there is no fence, nobody has looked yet
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
    """One execution on its way from being wanted to its end."""

    def __init__(
        self, request: ExecutionRequest, program: Program, declared: Mapping[str, str], active: ActiveExecution
    ) -> None:
        self.request = request
        self.program = program
        self.declared = declared
        self.active = active
        # Which of the programs for TypeScript there is turns out only when a fence is planned.
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
