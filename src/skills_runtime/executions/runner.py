"""Carries executions out: how many may be under way, who waits for which, and each in a warm or a new process."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from skills_runtime.errors import Busy, NotFound, SkillsRuntimeError
from skills_runtime.executions.jobs import Ended, Job, MakeDoorman, MakeFence, Stop, no_network, plan_of, run_fresh
from skills_runtime.executions.pools import Kind, Pool
from skills_runtime.executions.programs import (
    SKILL,
    Packages,
    Program,
    alternatives,
    may_be_warm,
    not_found,
    program_of,
    told,
)
from skills_runtime.executions.store import Begun, Keeper, Wanted
from skills_runtime.executions.values import Execution, PoolLimits
from skills_runtime.executions.zygotes import Unusable, Zygote
from skills_runtime.ports import Sandbox, SandboxPlan
from skills_runtime.processes import command_of
from skills_runtime.processes.command import find_program
from skills_runtime.skills.skill import Skill


class Live:
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
                await outlast(self.task)
            raise
        finally:
            self._waiting -= 1

    def end(self) -> None:
        """End it; one that has not begun just does not."""
        self.stop.set("cancelled")
        if not self.begun:
            self.task.cancel()


async def outlast(task: "asyncio.Future[Any]") -> None:
    """Wait until something is over, however often the caller is told not to."""
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            continue
    if not task.cancelled():
        task.exception()  # looked at, so that nobody complains that it was not


class Slots:
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
T = TypeVar("T")
Variables = Callable[[Skill], Mapping[str, str]]
"""The variables that a skill declares, with the values it gets."""


def no_variables(skill: Skill) -> Mapping[str, str]:
    """No variable for any skill."""
    del skill
    return {}


class Supplies(msgspec.Struct, frozen=True, kw_only=True):
    """What executions get from whoever has them done."""

    variables: Variables = no_variables
    packages: Packages | None = None
    """Nothing means that scripts run without the packages they say they need."""
    doorman: MakeDoorman = no_network
    """Watches the network of skills, where the fence opens it."""
    network: MakeFence | None = None
    """The fence of skills that declare a network; they have none either where this is left out."""
    stages: Path | None = None
    """Where executions work: beside their records, unless the caller knows a quicker place."""


class Performer:
    """Carries out executions for one keeper."""

    def __init__(
        self,
        keeper: Keeper,
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
        self._policy = _policy(fence(keeper.stages))
        self._shared: dict[Path, asyncio.Lock] = {}
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="execution")

    async def program(self, skill: Skill) -> Program:
        """What the skill is started with; packages that it needs are provided."""
        return await program_of(skill, self._supplies.packages)

    async def perform(self, wanted: Wanted, program: Program, live: Live) -> Execution | str:
        """Run the skill and settle the execution; the id of another one, if that was quicker to take the key.

        It is forgotten if nothing could be started at all.
        """
        attempt = _Attempt(wanted, program, self._supplies.variables(wanted.skill), live)
        done = await self._in_thread(live, self._begin, attempt)
        if done is not None:
            return done
        begun = attempt.begun
        assert begun is not None, "it has neither ended nor been done by another"
        try:
            done = await self._with_new_process(attempt, begun) if attempt.warm else None
            if done is None:
                ended = await self._unwarmed(attempt, begun)
                done = await self._in_thread(live, self._keeper.end, begun, wanted, ended)
        except asyncio.CancelledError:
            if not begun.settled:
                self._keeper.end(begun, wanted, Ended(ended_by="cancelled", exit_code=None))
            raise
        except BaseException:
            await self._in_thread(live, self._undo, begun, wanted.key)
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
        return self._through(zygote, attempt, begun) if zygote is not None else None

    def _through(self, zygote: Zygote, attempt: "_Attempt", begun: Begun) -> Execution | None:
        """Have a waiting process do it; nothing where that turned out to be gone."""
        try:
            os.rename(begun.stage, zygote.work)  # noqa: PTH104 - one step, for each execution
            try:
                job = _job(attempt, begun, zygote.work)
                ended = zygote.run(job, begun.sinks, attempt.live.stop)
            except Unusable:
                return None
            finally:
                with suppress(OSError):  # a skill may have removed it
                    os.rename(zygote.work, begun.stage)  # noqa: PTH104
        finally:
            self._pool.release(zygote)
        return self._keeper.end(begun, attempt.wanted, ended)

    async def _with_new_process(self, attempt: "_Attempt", begun: Begun) -> Execution | None:
        try:
            zygote = await self._pool.acquire(self._kind(attempt, begun))
        except Unusable:
            return None
        return await self._in_thread(attempt.live, self._through, zygote, attempt, begun)

    async def _unwarmed(self, attempt: "_Attempt", begun: Begun) -> Ended:
        if attempt.wanted.run.isolation == "copy":
            return await self._fresh(attempt, begun)
        async with self._shared.setdefault(_directory(attempt.wanted.skill), asyncio.Lock()):
            return await self._fresh(attempt, begun)

    def _undo(self, begun: Begun, key: str | None) -> None:
        begun.sinks.close()
        self._keeper.undo(begun.record.execution_id, key)

    async def _in_thread(self, live: Live, work: Callable[..., T], *arguments: Any) -> T:
        """Have a thread do it; when the whole program is being left, the execution is ended and waited for."""
        working = asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            live.stop.set("cancelled")
            await outlast(working)
            raise

    def _kind(self, attempt: "_Attempt", begun: Begun) -> Kind:
        program = attempt.program
        return Kind(
            skill=attempt.wanted.skill.mention.text,
            skill_digest=begun.image.digest,
            policy=self._policy,
            python=program.argv[0] if program.is_python else PYTHON,
            readable=program.readable,
        )

    async def _fresh(self, attempt: "_Attempt", begun: Begun) -> Ended:
        job = _job(attempt, begun, begun.stage)
        open_fence = self._supplies.network if attempt.wanted.run.network else None
        job, plan = await self._in_thread(attempt.live, self._planned, job, attempt.program, open_fence or self._fence)
        try:
            return await run_fresh(job, plan, begun.sinks, attempt.live.stop, self._supplies.doorman)
        except SkillsRuntimeError as error:
            return Ended(ended_by="lost", exit_code=None, isolation=plan.evidence, note=error.message)

    def _planned(self, job: Job, program: Program, fence: MakeFence) -> tuple[Job, SandboxPlan]:
        missing: NotFound | None = None
        for argv in alternatives(program):
            candidate = job.with_argv(argv)
            try:
                plan = plan_of(candidate, fence)
                find_program(command_of(plan))  # where there is no fence, nobody has looked yet
            except NotFound as error:
                missing = error
            else:
                return candidate, plan
        assert missing is not None, "there is always a command to try"
        raise not_found(program, missing) from missing


class _Attempt:
    """One execution on its way from being wanted to its end."""

    def __init__(self, wanted: Wanted, program: Program, declared: Mapping[str, str], live: Live) -> None:
        self.wanted = wanted
        self.program = program
        self.declared = declared
        self.live = live
        # Which of the programs for TypeScript there is turns out only when a fence is planned.
        self.warm = may_be_warm(wanted.run, declared) and program.entry.program != "tsx"
        self.begun: Begun | None = None


def _policy(fence: Sandbox) -> str:
    """The name of what a fence keeps."""
    policy = getattr(fence, "policy", None)
    return policy.digest if policy is not None else ""


def _job(attempt: _Attempt, begun: Begun, stage: Path) -> Job:
    wanted, program = attempt.wanted, attempt.program
    shared = wanted.run.isolation == "shared"
    cwd = _directory(wanted.skill) if shared else stage / SKILL
    return Job(
        argv=program.argv,
        script=program.entry.file if program.is_python else None,
        workspace=stage,
        cwd=cwd,
        environment=told(wanted.skill, begun.record.execution_id, stage, attempt.declared),
        readable=(*program.readable, *((cwd,) if shared else ())),
        stdin=wanted.data,
        timeout_ms=wanted.timeout_ms,
    )


def _directory(skill: Skill) -> Path:
    directory = skill.directory
    assert directory is not None, "it has a `skill.yaml`"
    return directory
