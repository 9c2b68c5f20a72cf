"""The Agent: the door for Python callers.

Assembles settings, run and ports, then hands over to the loop.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from skills_runtime.agent.assemble import (
    RunRequest,
    agent_ports,
    backend_for,
    config_summary,
    config_text_of,
    log_ports,
    spec_for,
)
from skills_runtime.agent.loop import run_segment
from skills_runtime.agent.outcome import RunResult, result_of
from skills_runtime.errors import StorageFailed
from skills_runtime.events import Event
from skills_runtime.events.payloads import RunCancelled, RunStarted
from skills_runtime.events.states import RunStatus
from skills_runtime.ports import Approver, Backend, Effect, Tool
from skills_runtime.runs import Run, check_id, create_run, finish_run, fork_point, open_run, runs_root
from skills_runtime.tools import Registry, builtin_tools, tool_from

if TYPE_CHECKING:
    from skills_runtime.config import Resolved

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class Agent:
    """Runs tasks in a workspace, each as one run with one log."""

    def __init__(
        self,
        *,
        workspace_root: Path | str | None = None,
        backend: Backend | None = None,
        config_paths: Iterable[Path | str] = (),
        session_settings: Mapping[str, Any] | None = None,
        approval_provider: Approver | None = None,
        event_hooks: Iterable[Callable[[Event], None]] = (),
    ) -> None:
        from skills_runtime.config import resolve

        self._resolved = resolve(
            Path(workspace_root) if workspace_root is not None else Path.cwd(),
            config_paths=[Path(path) for path in config_paths],
            session_settings=session_settings,
        )
        self._config_text: str | None = None
        self._backend = backend
        self._approver = approval_provider
        self._hooks = tuple(event_hooks)
        self._tools: Registry = builtin_tools()

    @classmethod
    def from_resolved(
        cls,
        resolved: "Resolved",
        *,
        backend: Backend | None = None,
        event_hooks: Iterable[Callable[[Event], None]] = (),
        tools: Registry | None = None,
    ) -> "Agent":
        """An agent over settings somebody else resolved."""
        agent = cls.__new__(cls)
        agent._resolved = resolved
        agent._config_text = None
        agent._backend = backend
        agent._approver = None
        agent._hooks = tuple(event_hooks)
        agent._tools = tools if tools is not None else builtin_tools()
        return agent

    @property
    def workspace_root(self) -> Path:
        """Where the agent works."""
        return self._resolved.workspace_root

    def register_tool(self, tool: Tool, *, override: bool = False) -> None:
        """Offer one more tool to the model."""
        self._tools.add(tool, override=override)

    @overload
    def tool(self, function: F, /) -> F: ...
    @overload
    def tool(
        self, /, *, name: str | None = None, effect: Effect = "effectful", timeout_sec: float | None = None
    ) -> Callable[[F], F]: ...
    def tool(
        self,
        function: F | None = None,
        /,
        *,
        name: str | None = None,
        effect: Effect = "effectful",
        timeout_sec: float | None = None,
    ) -> F | Callable[[F], F]:
        """Offer a typed function to the model: `@agent.tool`, or `@agent.tool(effect="read")`."""

        def offer(one: F) -> F:
            self._tools.add(tool_from(one, name=name, effect=effect, timeout_sec=timeout_sec))
            return one

        return offer if function is None else offer(function)

    def run(self, task: str, *, run_id: str | None = None) -> RunResult:
        """Work on a task until it ends; the id of a run that has not ended continues it."""
        return _wait(self._run_once(task, run_id))

    async def run_async(self, task: str, *, run_id: str | None = None) -> RunResult:
        """Like `run`, on the caller's event loop."""
        self._model()  # a configuration that cannot work leaves no run behind
        run = self._existing(run_id) or self.create(RunRequest(prompt=task, run_id=run_id))
        return await self.execute(run)

    def fork(self, root: Path, seq: int, *, prompt: str | None = None, run_id: str | None = None) -> Run:
        """A new run that goes on from event `seq` of another, perhaps with another prompt."""
        point = fork_point(root, seq, log_ports())
        task = prompt if prompt is not None else (Path(point.root) / "prompt.md").read_text(encoding="utf-8")
        return self.create(RunRequest(prompt=task, run_id=run_id, fork=point))

    async def run_stream_async(self, task: str, *, run_id: str | None = None) -> AsyncGenerator[Event]:
        """The events of a run as they happen; leaving early stops the run cleanly."""
        self._model()
        run = self._existing(run_id) or self.create(RunRequest(prompt=task, run_id=run_id))
        happened: asyncio.Queue[Event | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def listen(event: Event) -> None:
            loop.call_soon_threadsafe(happened.put_nowait, event)

        run.log.listen(listen)
        work = asyncio.create_task(self.execute(run), name=f"run {run.state.run_id}")
        work.add_done_callback(lambda _: loop.call_soon(happened.put_nowait, None))
        try:
            while (event := await happened.get()) is not None:
                yield event
            work.result()
        finally:
            work.cancel()
            await asyncio.wait([work])

    def run_stream(self, task: str, *, run_id: str | None = None) -> Iterator[Event]:
        """Like `run_stream_async`, for callers without an event loop."""
        with asyncio.Runner() as runner:
            events = self.run_stream_async(task, run_id=run_id)
            try:
                while (event := runner.run(_next(events))) is not None:
                    yield event
            finally:
                runner.run(events.aclose())
                runner.run(self._hang_up())

    async def _run_once(self, task: str, run_id: str | None) -> RunResult:
        """A run on an event loop of its own, which takes the model's connections with it."""
        try:
            return await self.run_async(task, run_id=run_id)
        finally:
            await self._hang_up()

    async def _hang_up(self) -> None:
        """Close the model's connections in this event loop."""
        close: Callable[[], Awaitable[None]] | None = getattr(self._backend, "aclose", None)
        if close is not None:
            await close()

    def create(self, request: RunRequest) -> Run:
        """Make the directory of a new run, in state `pending`."""
        if self._config_text is None:
            self._config_text = config_text_of(self._resolved)
        return create_run(spec_for(self._resolved, request, config_text=self._config_text), log_ports())

    def resume(self, root: Path, *, adopt: bool = False) -> Run:
        """Open a run that has not ended, to go on with it."""
        return open_run(root, log_ports(), adopt=adopt)

    async def execute(self, run: Run) -> RunResult:
        """Work on an open run until it ends, then close it."""
        for hook in self._hooks:
            run.log.listen(hook)
        try:
            ports = agent_ports(run, self._resolved, self._model(), self._tools, self._approver)
            await self._start(run)
            await run_segment(run, ports)
        except asyncio.CancelledError:
            if run.state.open:  # stopped before the loop had begun
                finish_run(run, RunCancelled(message="cancelled", wal_locator=str(run.paths.events)))
            raise
        except StorageFailed as error:
            # The disk is the one thing the log cannot tell of: the run stays open and can be resumed.
            return result_of(run, error)
        finally:
            run.close()
        return result_of(run)

    def _model(self) -> Backend:
        if self._backend is None:
            self._backend = backend_for(self._resolved)
        return self._backend

    async def _start(self, run: Run) -> None:
        resumed = run.state.started_at is not None
        if run.state.status is not RunStatus.RUNNING:
            await run.change_async(RunStatus.RUNNING)
        task = run.state.task if resumed else (run.paths.root / "prompt.md").read_text(encoding="utf-8")
        run.append(
            RunStarted(
                task=task,
                workspace_root=str(self._resolved.workspace_root),
                config_summary=dict(config_summary(self._resolved)),
                resume={"enabled": resumed, "strategy": "replay", "previous_events": run.log.next_seq},
            )
        )

    def _existing(self, run_id: str | None) -> Run | None:
        if run_id is None:
            return None
        root = runs_root(self._resolved.workspace_root) / check_id(run_id, "run")
        return open_run(root, log_ports()) if root.exists() else None


async def _next(events: AsyncGenerator[Event]) -> Event | None:
    return await anext(events, None)


def _wait(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, also from inside a running event loop (a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1, thread_name_prefix="agent-run") as aside:
        return aside.submit(asyncio.run, work).result()
