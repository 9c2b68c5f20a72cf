"""Carries out one execution: in a process that waits already, or in one that is made for it."""

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from skills_runtime.errors import NotFound, SkillsRuntimeError
from skills_runtime.executions.fresh import MakeDoorman, MakeFence, plan_of, run_fresh
from skills_runtime.executions.jobs import Ended, Job, Stop
from skills_runtime.executions.keeping import Begun, Keeper, Wanted
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
from skills_runtime.executions.values import Execution
from skills_runtime.executions.zygotes import Unusable
from skills_runtime.ports import SandboxPlan
from skills_runtime.skills.skill import Skill

PYTHON = "python3"
Variables = Callable[[Skill], Mapping[str, str]]
"""The variables that a skill declares, with the values it gets."""


class Performer:
    """Carries out executions for one keeper."""

    def __init__(
        self,
        keeper: Keeper,
        pool: Pool,
        fence: MakeFence,
        *,
        variables: Variables,
        packages: Packages | None,
        doorman: MakeDoorman,
    ) -> None:
        self._keeper = keeper
        self._pool = pool
        self._fence = fence
        self._variables = variables
        self._packages = packages
        self._doorman = doorman
        self._shared: dict[Path, asyncio.Lock] = {}

    async def program(self, skill: Skill) -> Program:
        """What the skill is started with; packages that it needs are provided."""
        return await program_of(skill, self._packages)

    async def perform(self, wanted: Wanted, begun: Begun, program: Program, stop: Stop) -> Execution:
        """Run the skill and settle the execution; it is forgotten if nothing could be started at all."""
        try:
            ended = await self._run(wanted, begun, program, stop)
        except asyncio.CancelledError:
            self._keeper.end(begun, wanted, Ended(ended_by="cancelled", exit_code=None))
            raise
        except BaseException:
            begun.sinks.close()
            await asyncio.to_thread(self._keeper.undo, begun.record.execution_id, wanted.key)
            raise
        return await asyncio.to_thread(self._keeper.end, begun, wanted, ended)

    async def _run(self, wanted: Wanted, begun: Begun, program: Program, stop: Stop) -> Ended:
        declared = self._variables(wanted.skill)
        if stop.reason is not None:
            return Ended(ended_by=stop.reason, exit_code=None)
        if may_be_warm(wanted.run, declared):
            with suppress(Unusable):
                return await self._warm(wanted, begun, program, declared, stop)
        if wanted.run.isolation == "copy":
            return await self._fresh(wanted, begun, program, declared, stop)
        async with self._shared.setdefault(_directory(wanted.skill), asyncio.Lock()):
            return await self._fresh(wanted, begun, program, declared, stop)

    async def _warm(
        self, wanted: Wanted, begun: Begun, program: Program, declared: Mapping[str, str], stop: Stop
    ) -> Ended:
        """Let a process do it that waits for executions of this skill; raises `Unusable` before anything happens."""
        if program.entry.program == "tsx":
            raise Unusable("which program there is for TypeScript is not known")
        kind = Kind(
            skill=wanted.skill.mention.text,
            skill_digest=begun.image.digest,
            policy=self._policy(),
            python=program.argv[0] if program.is_python else PYTHON,
            readable=program.readable,
        )
        zygote = await self._pool.acquire(kind)
        try:
            os.rename(begun.work, zygote.work)  # noqa: PTH104 - one step, for each execution
            try:
                job = _job(wanted, begun, program, zygote.work, declared)
                return await zygote.run(job, begun.sinks, stop)
            finally:
                with suppress(OSError):  # a skill may have removed it
                    os.rename(zygote.work, begun.work)  # noqa: PTH104
        finally:
            self._pool.release(zygote)

    async def _fresh(
        self, wanted: Wanted, begun: Begun, program: Program, declared: Mapping[str, str], stop: Stop
    ) -> Ended:
        job = _job(wanted, begun, program, begun.work, declared)
        job, plan = await asyncio.to_thread(self._planned, job, program)
        try:
            return await run_fresh(job, plan, begun.sinks, stop, self._doorman)
        except SkillsRuntimeError as error:
            return Ended(ended_by="lost", exit_code=None, isolation=plan.evidence, note=error.message)

    def _planned(self, job: Job, program: Program) -> tuple[Job, SandboxPlan]:
        missing: NotFound | None = None
        for argv in alternatives(program):
            candidate = job.with_argv(argv)
            try:
                return candidate, plan_of(candidate, self._fence)
            except NotFound as error:
                missing = error
        assert missing is not None, "there is always a command to try"
        raise not_found(program, missing) from missing

    def _policy(self) -> str:
        policy = getattr(self._fence(self._keeper.stages), "policy", None)
        return policy.digest if policy is not None else ""


def _job(wanted: Wanted, begun: Begun, program: Program, work: Path, declared: Mapping[str, str]) -> Job:
    shared = wanted.run.isolation == "shared"
    cwd = _directory(wanted.skill) if shared else work / SKILL
    return Job(
        argv=program.argv,
        script=program.entry.file if program.is_python else None,
        workspace=work.parent,
        cwd=cwd,
        environment=told(wanted.skill, begun.record.execution_id, work, declared),
        readable=(*program.readable, *((cwd,) if shared else ())),
        stdin=wanted.data,
        timeout_ms=wanted.timeout_ms,
    )


def _directory(skill: Skill) -> Path:
    directory = skill.directory
    assert directory is not None, "it has a `skill.yaml`"
    return directory
