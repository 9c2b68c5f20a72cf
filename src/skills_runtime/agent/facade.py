"""The Agent: the door for Python callers. Assembles settings, run and ports, then hands over to the loop."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from skills_runtime.agent.assemble import RunRequest, agent_ports, backend_for, config_summary, log_ports, spec_for
from skills_runtime.agent.loop import run_segment
from skills_runtime.agent.outcome import RunResult, result_status
from skills_runtime.errors import StorageFailed
from skills_runtime.events import Event
from skills_runtime.events.payloads import RunStarted
from skills_runtime.events.states import RunStatus
from skills_runtime.ports import Approver, Backend, Tool
from skills_runtime.runs import Run, check_id, create_run, open_run, runs_root
from skills_runtime.tools import Registry, builtin_tools

if TYPE_CHECKING:
    from skills_runtime.config import Resolved

T = TypeVar("T")


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
    ) -> "Agent":
        """An agent over settings somebody else resolved."""
        agent = cls.__new__(cls)
        agent._resolved = resolved
        agent._backend = backend
        agent._approver = None
        agent._hooks = tuple(event_hooks)
        agent._tools = builtin_tools()
        return agent

    def register_tool(self, tool: Tool, *, override: bool = False) -> None:
        """Offer one more tool to the model."""
        self._tools.add(tool, override=override)

    def run(self, task: str, *, run_id: str | None = None) -> RunResult:
        """Work on a task until it ends; the id of a run that has not ended continues it."""
        return _wait(self.run_async(task, run_id=run_id))

    async def run_async(self, task: str, *, run_id: str | None = None) -> RunResult:
        """Like `run`, on the caller's event loop."""
        self._model()  # a configuration that cannot work leaves no run behind
        run = self._existing(run_id) or self.create(RunRequest(prompt=task, run_id=run_id))
        return await self.execute(run)

    def create(self, request: RunRequest) -> Run:
        """Make the directory of a new run, in state `pending`."""
        return create_run(spec_for(self._resolved, request), log_ports())

    async def execute(self, run: Run) -> RunResult:
        """Work on an open run until it ends, then close it."""
        for hook in self._hooks:
            run.log.listen(hook)
        try:
            ports = agent_ports(run, self._resolved, self._model(), self._tools, self._approver)
            self._start(run)
            await run_segment(run, ports)
        except StorageFailed as error:
            # The disk is the one thing the log cannot tell of: the run stays open and can be resumed.
            return _result(run, error)
        finally:
            run.close()
        return _result(run)

    def _model(self) -> Backend:
        if self._backend is None:
            self._backend = backend_for(self._resolved)
        return self._backend

    def _start(self, run: Run) -> None:
        resumed = run.state.started_at is not None
        if run.state.status is not RunStatus.RUNNING:
            run.change(RunStatus.RUNNING)
        task = run.state.task or (run.paths.root / "prompt.md").read_text(encoding="utf-8")
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


def _result(run: Run, storage: StorageFailed | None = None) -> RunResult:
    state = run.state
    failed = storage is not None
    return RunResult(
        status="failed" if failed else result_status(state.status),
        final_output=storage.message if storage else state.final_output or state.failure_reason or "",
        artifacts=tuple(str(run.paths.root / name) for name in state.artifacts),
        wal_locator=str(run.paths.events),
        run_id=state.run_id,
        error_kind=storage.kind if storage else state.error_kind,
        hint=storage.hint if storage else "",
        input_tokens=state.input_tokens,
        output_tokens=state.output_tokens,
    )


def _wait(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, also from inside a running event loop (a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    done: Future[T] = Future()

    def work_aside() -> None:
        try:
            done.set_result(asyncio.run(work))
        except BaseException as error:  # noqa: BLE001 - handed over to the caller's thread
            done.set_exception(error)

    threading.Thread(target=work_aside, name="agent-run").start()
    return done.result()
