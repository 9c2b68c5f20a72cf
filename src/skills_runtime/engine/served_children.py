"""The child agents of the workspace runtime server: real runs of the workspace, through `RunService`.

They are stored on disk, so a server that replaces a dead one knows them and can continue them. Children that wait for
input wait in the inbox, not in this process.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path

from skills_runtime.agent import log_ports, result_status
from skills_runtime.config import state_home
from skills_runtime.engine.agent_factory import Interaction
from skills_runtime.engine.run_requests import RunRequest
from skills_runtime.engine.run_service import RunService, ServiceLimits, open_run_service
from skills_runtime.engine.workspace import Workspace
from skills_runtime.errors import LogEnded, NotFound, RunExists
from skills_runtime.events import RunStatus
from skills_runtime.ports import ChildStatus
from skills_runtime.projections import RunView
from skills_runtime.runs import RunPaths, is_legal_id, read_view, runs_root

PREFIX = "child-"
"""Prefix of the ids of these runs."""


class RunChildren:
    """Starts, follows and cancels child agents."""

    def __init__(self, workspace_root: Path) -> None:
        self._root = workspace_root
        self._runs: RunService | None = None
        self._closing = AsyncExitStack()

    @property
    def active(self) -> int:
        """Return how many are in progress."""
        return len(self._runs) if self._runs is not None else 0

    def list(self) -> Sequence[ChildStatus]:
        """Return every child of this workspace, including those of earlier servers."""
        home = runs_root(self._root)
        names = sorted(entry.name for entry in home.glob(f"{PREFIX}*")) if home.is_dir() else []
        return [self._status(name) for name in names if is_legal_id(name) and RunPaths(home / name).events.exists()]

    async def spawn(self, message: str, *, call_id: str, agent_type: str = "") -> ChildStatus:
        """Start a run with this task; the same call starts only one."""
        del agent_type  # without profiles there is one kind of agent, that of the settings
        child_id = PREFIX + hashlib.sha256(call_id.encode(errors="surrogatepass")).hexdigest()[:20]
        if not (runs_root(self._root) / child_id).exists():
            with suppress(RunExists):
                await (await self._service()).create(RunRequest(prompt=message, run_id=child_id))
        return self._status(child_id)

    async def wait(self, ids: Sequence[str], *, timeout_ms: int | None = None) -> Sequence[ChildStatus]:
        """Return their states once all have ended or wait for input, or the time is over."""
        for child_id in ids:
            self._paths(child_id)
        if self._runs is not None and ids:
            waiting = [asyncio.create_task(self._runs.wait(child_id)) for child_id in ids]
            _, late = await asyncio.wait(waiting, timeout=timeout_ms / 1000 if timeout_ms is not None else None)
            for task in late:
                task.cancel()
        return [self._status(child_id) for child_id in ids]

    async def send(self, child_id: str, message: str) -> ChildStatus:
        """Answer a question of a run, or send it a message for its next turn; a waiting run continues."""
        view, runs = self._view(child_id), await self._service()
        if view.pending.questions:
            runs.answer(child_id, message)
        else:
            runs.send(child_id, message)
        return await self.resume(child_id)

    async def resume(self, child_id: str) -> ChildStatus:
        """Continue a run that stopped before its end."""
        state, runs = self._view(child_id).state, await self._service()
        if child_id not in runs and state.open and state.status is not RunStatus.REVIEW_REQUIRED:
            await runs.resume(child_id)
        return self._status(child_id)

    async def close(self, child_id: str) -> ChildStatus:
        """Cancel a run; returns when it has stopped."""
        self._paths(child_id)
        runs = await self._service()
        with suppress(LogEnded):
            await runs.cancel(child_id, "closed")
        await runs.wait(child_id)
        return self._status(child_id)

    async def cancel_all(self) -> int:
        """Cancel those in progress; return their number once they have stopped."""
        running = self._runs.active if self._runs is not None else ()
        await asyncio.gather(*map(self.close, running))
        return len(running)

    async def aclose(self) -> None:
        """Stop executing all of them; they can be resumed."""
        await self._closing.aclose()

    async def _service(self) -> RunService:
        """Return the runs of the workspace, each with the settings of its start."""
        if self._runs is None:
            workspace = Workspace(workspace_root=self._root, state=state_home())
            run_service = open_run_service(
                workspace, interaction=Interaction(depth=1), limits=ServiceLimits(durable=False)
            )
            self._runs = self._closing.enter_context(run_service)
            await self._closing.enter_async_context(self._runs.working())
        return self._runs

    def _paths(self, child_id: str) -> RunPaths:
        paths = RunPaths(runs_root(self._root) / child_id)
        if not child_id.startswith(PREFIX) or not is_legal_id(child_id) or not paths.events.exists():
            raise NotFound(f"there is no child agent `{child_id[:100]!a}`", hint="`collab.list` tells which there are")
        return paths

    def _view(self, child_id: str) -> RunView:
        return read_view(self._paths(child_id), log_ports())

    def _status(self, child_id: str) -> ChildStatus:
        if self._runs is not None and child_id in self._runs:
            return ChildStatus(id=child_id, status="running")
        state = self._view(child_id).state
        return ChildStatus(
            id=child_id,
            status=result_status(state.status),
            final_output=state.final_output or state.failure_reason or state.waiting_message,
            error_kind=state.error_kind,
        )
