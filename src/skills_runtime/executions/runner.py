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
    Ended,
    Job,
    MakeEgressCallbacks,
    MakeFence,
    Packages,
    Program,
    Stop,
    build_environment,
    can_be_warm,
    no_network,
    plan_of,
    program_of,
    run_fresh,
)
from skills_runtime.executions.store import ExecutionRequest, ExecutionStore, StartedExecution
from skills_runtime.executions.values import Execution, PoolLimits
from skills_runtime.executions.zygotes import Pool, Unusable, Zygote, ZygoteKind
from skills_runtime.ports import SandboxPlan
from skills_runtime.processes import command_of, find_program
from skills_runtime.skills import Skill


class ActiveExecution:
    """One execution under way, and how many wait for it."""

    def __init__(self, request: str) -> None:
        self.request = request
        self.stop = Stop()
        self.execution_id: str | None = None
        self.begun = False
        """Whether there is a record of it that has to be settled."""
        self.task: asyncio.Task[Execution]
        self._waiting = 0

    async def follow(self) -> Execution:
        """Wait for its end; when the last one who waits gives up, it is ended."""
        self._waiting += 1
        try:
            return await asyncio.shield(self.task)
        except asyncio.CancelledError:
            if self.task.cancelled():
                raise Busy("executions are being shut down") from None
            if self._waiting == 1:
                self.end()
                await wait_uncancelled(self.task)
            raise
        finally:
            self._waiting -= 1

    def end(self) -> None:
        """End it; one that has not begun just does not."""
        self.stop.set("cancelled")
        if not self.begun:
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
        self.most = limits.concurrent or 2 * (os.cpu_count() or 1)
        self._free = asyncio.Semaphore(self.most)
        self._patience = limits.waiting
        self.waiting = 0
        self.running = 0

    @asynccontextmanager
    async def one(self) -> AsyncGenerator[None]:
        """Wait for a turn; raises `Busy` when too many do."""
        if self._free.locked() and self.waiting >= self._patience:
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
    doorman: MakeEgressCallbacks = no_network
    """Watches the network of skills, where the fence opens it."""
    network: MakeFence | None = None
    """The fence of skills that declare a network; they have none either where this is left out."""
    stages: Path | None = None
    """Where executions work: beside their records, unless the caller knows a quicker place."""


class ExecutionRunner:
    """Carries out executions for one keeper."""

    def __init__(
        self,
        keeper: ExecutionStore,
        pool: Pool,
        fence: MakeFence,
        supplies: Supplies,
        *,
        threads: int,
    ) -> None:
        self._keeper = keeper
        self._pool = pool
        self._fence = fence
        self._supplies = supplies
        policy = getattr(fence(keeper.stages), "policy", None)
        self._policy = policy.digest if policy is not None else ""
        self._shared: dict[Path, asyncio.Lock] = {}
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="execution")

    async def program(self, skill: Skill) -> Program:
        """What the skill is started with; packages that it needs are provided."""
        return await program_of(skill, self._supplies.packages)

    async def perform(self, request: ExecutionRequest, program: Program, live: ActiveExecution) -> Execution | str:
        """Run the skill and settle the execution; the id of another one, if that was quicker to take the key.

        It is forgotten if nothing could be started at all.
        """
        attempt = _Attempt(request, program, self._supplies.variables(request.skill), live)
        done = await self._in_thread(live, self._begin, attempt)
        if done is not None:
            return done
        execution = attempt.begun
        assert execution is not None, "it has neither ended nor been done by another"
        try:
            with suppress(Unusable):
                if attempt.warm:
                    zygote = await self._pool.acquire(self._kind(attempt, execution))
                    done = await self._in_thread(live, self._run_warm, zygote, attempt, execution)
            if done is None:
                # Executions in the directory of the skill itself go one after another.
                shared = request.run.isolation != "copy"
                lock = self._shared.setdefault(_directory(request.skill), asyncio.Lock()) if shared else nullcontext()
                async with lock:
                    ended = await self._run_fresh(attempt, execution)
                done = await self._in_thread(live, self._keeper.end, execution, request, ended)
        except asyncio.CancelledError:
            if not execution.settled:
                self._keeper.end(execution, request, Ended(ended_by="cancelled", exit_code=None))
            raise
        except BaseException:
            await self._in_thread(live, self._undo, execution, request.key)
            raise
        return done

    def close(self) -> None:
        """Let the threads go; none of them has anything to do any more."""
        self._threads.shutdown()

    def _begin(self, attempt: "_Attempt") -> Execution | str | None:
        """Begin, and go on to the end at once if a process waits for just this; nothing where the loop has to help."""
        begun = self._keeper.begin(attempt.wanted, attempt.live.stop)
        if isinstance(begun, str):
            return begun
        attempt.begun = begun
        attempt.live.execution_id = begun.record.execution_id
        if attempt.live.stop.reason is not None:
            return self._keeper.end(begun, attempt.wanted, Ended(ended_by=attempt.live.stop.reason, exit_code=None))
        zygote = self._pool.waiting(self._kind(attempt, begun)) if attempt.warm else None
        return self._run_warm(zygote, attempt, begun) if zygote is not None else None

    def _run_warm(self, zygote: Zygote, attempt: "_Attempt", execution: StartedExecution) -> Execution | None:
        """Have a waiting process do it; nothing where that turned out to be gone."""
        try:
            os.rename(execution.stage, zygote.work)  # noqa: PTH104 - one step, for each execution
            try:
                job = _job(attempt, execution, zygote.work)
                ended = zygote.run(job, execution.sinks, attempt.live.stop)
            except Unusable:
                return None
            finally:
                with suppress(OSError):  # a skill may have removed it
                    os.rename(zygote.work, execution.stage)  # noqa: PTH104
        finally:
            self._pool.release(zygote)
        return self._keeper.end(execution, attempt.wanted, ended)

    def _undo(self, execution: StartedExecution, key: str | None) -> None:
        execution.sinks.close()
        self._keeper.undo(execution.record.execution_id, key)

    async def _in_thread(self, live: ActiveExecution, work: Callable[..., T], *arguments: Any) -> T:
        """Have a thread do it; when the whole program is being left, the execution is ended and waited for."""
        working = asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            live.stop.set("cancelled")
            await wait_uncancelled(working)
            raise

    def _kind(self, attempt: "_Attempt", execution: StartedExecution) -> ZygoteKind:
        program = attempt.program
        return ZygoteKind(
            skill=attempt.wanted.skill.mention.text,
            skill_digest=execution.image.digest,
            policy=self._policy,
            python=program.argv[0] if program.is_python else PYTHON,
            readable=program.readable,
        )

    async def _run_fresh(self, attempt: "_Attempt", execution: StartedExecution) -> Ended:
        job = _job(attempt, execution, execution.stage)
        open_fence = self._supplies.network if attempt.wanted.run.network else None
        job, plan = await self._in_thread(attempt.live, self._plan, job, attempt.program, open_fence or self._fence)
        try:
            return await run_fresh(job, plan, execution.sinks, attempt.live.stop, self._supplies.doorman)
        except SkillsRuntimeError as error:
            return Ended(ended_by="lost", exit_code=None, isolation=plan.evidence, note=error.message)

    def _plan(self, job: Job, program: Program, fence: MakeFence) -> tuple[Job, SandboxPlan]:
        """Plan the process behind its fence; of the two programs for TypeScript the first that is there is taken."""
        is_typescript = program.entry.program == "tsx"
        missing: NotFound | None = None
        for argv in ((name, program.entry.file) for name in TYPESCRIPT) if is_typescript else (program.argv,):
            candidate = job.with_argv(argv)
            try:
                plan = plan_of(candidate, fence)
                find_program(command_of(plan))  # where there is no fence, nobody has looked yet
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
        self, request: ExecutionRequest, program: Program, declared: Mapping[str, str], live: ActiveExecution
    ) -> None:
        self.wanted = request
        self.program = program
        self.declared = declared
        self.live = live
        # Which of the programs for TypeScript there is turns out only when a fence is planned.
        self.warm = can_be_warm(request.run, declared) and program.entry.program != "tsx"
        self.begun: StartedExecution | None = None


def _job(attempt: _Attempt, execution: StartedExecution, stage: Path) -> Job:
    request, program = attempt.wanted, attempt.program
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
