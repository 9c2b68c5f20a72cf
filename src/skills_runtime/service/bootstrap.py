"""Puts a service together from its settings, and takes it apart again."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.agent.run_defaults import backend_for
from skills_runtime.clock import SystemClock
from skills_runtime.engine import Interaction, RunService, Workspace, open_run_service
from skills_runtime.engine.agent_factory import Model
from skills_runtime.executions import ExecutionLimits, Executor, PoolLimits, Supplies, stages_in_memory
from skills_runtime.executions.retention import Retention
from skills_runtime.executions.settings import ScriptPackages, build_sandboxes
from skills_runtime.executions.zygotes import zygote_sources
from skills_runtime.processes.launcher import ready
from skills_runtime.sandbox.egress import Doorman, EgressRecord
from skills_runtime.service.access.keys import KeyFile
from skills_runtime.service.access.token import service_token
from skills_runtime.service.audit import AuditEntry, AuditLog
from skills_runtime.service.metrics import Metrics
from skills_runtime.service.retention import keep_retention
from skills_runtime.service.settings import ServiceSettings
from skills_runtime.service.skills import SkillRegistry
from skills_runtime.service.state import ServiceState
from skills_runtime.service.streams import Streams
from skills_runtime.skills import Skill

LATER = ("skills_runtime.sandbox.egress.gateway",)
"""What is imported only when an execution needs it."""
EGRESS_LOG = logging.getLogger("skills_runtime.service.egress")

if TYPE_CHECKING:
    from skills_runtime.config import Resolved


@asynccontextmanager
async def open_service(
    settings: ServiceSettings, resolved: "Resolved", *, model: Model = backend_for
) -> AsyncGenerator[ServiceState]:
    """Everything a service works with; when it is left nothing that was executed still runs."""
    clock, stopping = SystemClock(), asyncio.Event()
    await asyncio.to_thread(_prepare)
    async with AsyncExitStack() as closing:
        audit = AuditLog(settings.state)
        closing.callback(audit.close)
        executor = await closing.enter_async_context(_executor(settings, resolved))
        metrics = _metrics(executor)
        await closing.enter_async_context(keep_retention(executor, _retention(settings), metrics))
        workspace = _workspace(settings, resolved)
        runs, streams = await closing.enter_async_context(open_runs(workspace, model=model, stopping=stopping))
        audit.add(AuditEntry(time=clock.now(), what="started", who="service"))
        closing.callback(lambda: audit.add(AuditEntry(time=clock.now(), what="stopped", who="service")))
        yield ServiceState(
            settings=settings,
            resolved=resolved,
            token=service_token(settings.state),
            executor=executor,
            skills=SkillRegistry(settings.skills_dir),
            runs=runs,
            streams=streams,
            keys=KeyFile(settings.state, clock.now),
            audit=audit,
            metrics=metrics,
            stopping=stopping,
        )


@asynccontextmanager
async def open_runs(
    workspace: Workspace, *, model: Model = backend_for, stopping: asyncio.Event | None = None
) -> AsyncGenerator[tuple[RunService, Streams]]:
    """The runs of a service, and those who follow them; streams end as soon as `stopping` is set.

    What was under way when the last process ended goes on here, and so does what is under way now, later.
    """
    streams = Streams()
    with open_run_service(workspace, interaction=Interaction(hooks=(streams.heard,)), model=model) as runs:
        async with runs.working(recover=True):
            ending = asyncio.create_task(_end_streams(streams, stopping or asyncio.Event()))
            try:
                yield runs, streams
            finally:
                runs.stopping = True
                ending.cancel()
                await streams.close()


async def _end_streams(streams: Streams, stopping: asyncio.Event) -> None:
    await stopping.wait()
    await streams.close()


def _prepare() -> None:
    """Have in memory what executions need of the package, whose files may be replaced while the service runs."""
    ready()
    zygote_sources()
    for name in LATER:
        import_module(name)


def _visited(record: EgressRecord) -> None:
    """Tell of every host that a skill wanted to reach."""
    EGRESS_LOG.info("%s", msgspec.json.encode(record).decode())


def _metrics(executor: Executor) -> Metrics:
    metrics = Metrics()
    metrics.watch("executions_running", "Executions under way.", lambda: executor.under_way[0])
    metrics.watch("executions_waiting", "Executions that wait for their turn.", lambda: executor.under_way[1])
    return metrics


def _retention(settings: ServiceSettings) -> Retention:
    return Retention(days=settings.keep_days, bytes=settings.keep_bytes)


def _workspace(settings: ServiceSettings, resolved: "Resolved") -> Workspace:
    return Workspace(
        workspace_root=settings.workspace_root,
        state=settings.state,
        config_paths=settings.config_paths,
        given=settings.given,
        env_file=resolved.env_file,
    )


def _executor(settings: ServiceSettings, resolved: "Resolved") -> Executor:
    environment = resolved.environment
    closed, opened = build_sandboxes(resolved.settings.sandbox, environment.process)

    def variables(skill: Skill) -> Mapping[str, str]:
        declared = skill.run.env if skill.run is not None else ()
        return {name: value for name in declared if (value := environment.process.get(name)) is not None}

    return Executor(
        settings.artifacts_dir,
        closed,
        limits=ExecutionLimits(timeout_ms=settings.default_timeout_ms, max_timeout_ms=settings.max_timeout_ms),
        pool=PoolLimits(concurrent=settings.limits.concurrent, waiting=settings.limits.waiting),
        supplies=Supplies(
            variables=variables,
            packages=ScriptPackages(),
            doorman=lambda: Doorman(record=_visited),
            network=opened,
            stages=stages_in_memory(settings.artifacts_dir),
        ),
    )
