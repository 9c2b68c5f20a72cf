"""Open a service from its settings, and close it again."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.agent import backend_for
from skills_runtime.clock import SystemClock
from skills_runtime.engine import ExecutionOptions, Interaction, Model, RunService, Workspace, open_run_service
from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.executions import ExecutionLimits, Executor, PoolLimits, Retention, wait_uncancelled, zygote_sources
from skills_runtime.processes import start_launcher
from skills_runtime.service.access.keys import KeyFile
from skills_runtime.service.access.token import service_token
from skills_runtime.service.audit import AuditEntry, AuditLog
from skills_runtime.service.metrics import Metrics
from skills_runtime.service.settings import ServiceSettings
from skills_runtime.service.state import ServiceState
from skills_runtime.service.streams import Streams

LAZY_MODULES = ("skills_runtime.sandbox.egress.gateway",)
"""Modules that are otherwise imported only when an execution needs them."""
REMOVE_EVERY_SECONDS = 60 * 60
Pause = Callable[[], Awaitable[None]]
"""Waits until the next removal is due."""
RETENTION_LOG = logging.getLogger("skills_runtime.service.retention")
EGRESS_LOG = logging.getLogger("skills_runtime.service.egress")

if TYPE_CHECKING:
    from skills_runtime.config import Resolved


@asynccontextmanager
async def open_service(
    settings: ServiceSettings, resolved: "Resolved", *, model: Model = backend_for
) -> AsyncGenerator[ServiceState]:
    """Open everything a service needs; on exit no execution is left running."""
    clock, stopping = SystemClock(), asyncio.Event()
    await asyncio.to_thread(_prepare)
    async with AsyncExitStack() as closing:
        audit = AuditLog(settings.state)
        closing.callback(audit.close)
        opening = open_runs(
            Workspace(
                workspace_root=settings.workspace_root,
                state=settings.state,
                config_paths=settings.config_paths,
                user_settings=settings.run_settings,
                env_file=resolved.env_file,
            ),
            model=model,
            stopping=stopping,
            executions=_execution_options(settings, resolved),
        )
        runs, streams = await closing.enter_async_context(opening)
        executions = await closing.enter_async_context(runs.executions)
        metrics = Metrics()
        executor = executions.executor
        metrics.add_gauge("executions_running", "Running executions.", lambda: executor.under_way[0])
        metrics.add_gauge("executions_waiting", "Executions waiting in the queue.", lambda: executor.under_way[1])
        retention = Retention(days=settings.keep_days, bytes=settings.keep_bytes)
        await closing.enter_async_context(keep_retention(executor, retention, metrics))
        audit.add(AuditEntry(time=clock.now(), what="started", who="service"))
        closing.callback(lambda: audit.add(AuditEntry(time=clock.now(), what="stopped", who="service")))
        yield ServiceState(
            settings=settings,
            resolved=resolved,
            token=service_token(settings.state),
            runs=runs,
            streams=streams,
            keys=KeyFile(settings.state, clock.now),
            audit=audit,
            metrics=metrics,
            stopping=stopping,
        )


@asynccontextmanager
async def open_runs(
    workspace: Workspace,
    *,
    model: Model = backend_for,
    stopping: asyncio.Event | None = None,
    executions: ExecutionOptions | None = None,
) -> AsyncGenerator[tuple[RunService, Streams]]:
    """Open the runs of a service and their event streams, which end as soon as `stopping` is set.

    Runs that were interrupted when the last process ended are resumed; runs still open on exit are resumed next time.
    """
    streams = Streams()
    interaction = Interaction(hooks=(streams.notify,))
    with open_run_service(workspace, interaction=interaction, model=model, executions=executions) as runs:
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
    """Load what executions need into memory: the package's files may be replaced while the service runs."""
    start_launcher()
    zygote_sources()
    for name in LAZY_MODULES:
        import_module(name)


def _execution_options(settings: ServiceSettings, resolved: "Resolved") -> ExecutionOptions:
    return ExecutionOptions(
        resolved=resolved,
        directory=settings.artifacts_dir,
        skills_dir=settings.skills_dir,
        limits=ExecutionLimits(timeout_ms=settings.default_timeout_ms, max_timeout_ms=settings.max_timeout_ms),
        pool=PoolLimits(concurrent=settings.limits.concurrent, waiting=settings.limits.waiting),
        in_memory=True,
        on_egress=lambda record: EGRESS_LOG.info("%s", msgspec.json.encode(record).decode()),
    )


async def _wait_an_hour() -> None:
    await asyncio.sleep(REMOVE_EVERY_SECONDS)


@asynccontextmanager
async def keep_retention(
    executor: Executor, keep: Retention, metrics: Metrics, *, pause: Pause = _wait_an_hour
) -> AsyncGenerator[None]:
    """Remove expired executions, at once and after every pause.

    On exit no removal is in progress.
    """
    if keep.is_off:
        yield
        return
    task = asyncio.create_task(_remove_repeatedly(executor, keep, metrics, pause), name="remove old executions")
    try:
        yield
    finally:
        task.cancel()
        await wait_uncancelled(task)


async def _remove_repeatedly(executor: Executor, keep: Retention, metrics: Metrics, pause: Pause) -> None:
    while True:
        try:
            count = await executor.tidy(keep)
            metrics.count_removed("retention", count.removed)
            if count.removed or count.failed:
                _log_removal(logging.WARNING if count.failed else logging.INFO, **msgspec.structs.asdict(count))
        except (SkillsRuntimeError, OSError) as error:  # it may succeed next time
            _log_removal(logging.WARNING, error=str(error))
        await pause()


def _log_removal(level: int, **details: object) -> None:
    RETENTION_LOG.log(level, "%s", json.dumps({"time": SystemClock().now(), "what": "executions_removed", **details}))
