"""The child agents of the workspace runtime server: real runs of the workspace, through the dispatcher.

What they are is on disk, so a server that comes after one that died knows them too, and can go on with them.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from skills_runtime.agent import Agent, RunRequest, RunResult
from skills_runtime.agent.options import AgentOptions
from skills_runtime.agent.result import result_status
from skills_runtime.agent.run_defaults import backend_for, prices_of
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.clock import RandomIds, SystemClock
from skills_runtime.engine.local import LocalDispatcher
from skills_runtime.engine.run_control import RunControl
from skills_runtime.errors import LogEnded, NotFound
from skills_runtime.ledger import Ledger, open_ledger
from skills_runtime.ports import Backend, ChildStatus
from skills_runtime.projections import RunView
from skills_runtime.runs import Run, RunPaths, is_legal_id, read_view, runs_root
from skills_runtime.safety import InboxApprovals
from skills_runtime.tools import builtin_tools

if TYPE_CHECKING:
    from skills_runtime.config import Resolved

PREFIX = "child-"
"""How the ids of these runs begin."""


class RunChildren:
    """Begins, follows and ends child agents; those who wait for somebody do so in the inbox, not in this process."""

    def __init__(self, workspace_root: Path) -> None:
        self._root = workspace_root
        self._ledger: Ledger | None = None
        self._crews: list[_Crew] = []
        self._work: dict[str, _Work] = {}

    @property
    def active(self) -> int:
        """How many are worked on now."""
        return sum(self._running(child_id) for child_id in self._work)

    def list(self) -> Sequence[ChildStatus]:
        """Every child of this workspace, also of servers before this one."""
        home = runs_root(self._root)
        names = sorted(entry.name for entry in home.glob(f"{PREFIX}*")) if home.is_dir() else []
        return [self._status(name) for name in names if is_legal_id(name) and RunPaths(home / name).events.exists()]

    async def spawn(self, message: str, *, call_id: str, agent_type: str = "") -> ChildStatus:
        """Begin a run with this task; the same call begins one only once."""
        del agent_type  # without profiles there is one kind of agent, that of the settings
        child_id = PREFIX + hashlib.sha256(call_id.encode(errors="surrogatepass")).hexdigest()[:20]
        if not (runs_root(self._root) / child_id).exists():
            crew = self._crew()
            await self._begin(child_id, crew, crew.agent.create(RunRequest(prompt=message, run_id=child_id)))
        return self._status(child_id)

    async def wait(self, ids: Sequence[str], *, timeout_ms: int | None = None) -> Sequence[ChildStatus]:
        """Where they stand once all have ended or wait for somebody, or the time is over."""
        for child_id in ids:
            self._paths(child_id)
        under_way = [self._work[child_id].result for child_id in ids if self._running(child_id)]
        if under_way:
            await asyncio.wait(under_way, timeout=timeout_ms / 1000 if timeout_ms is not None else None)
        return [self._status(child_id) for child_id in ids]

    async def send(self, child_id: str, message: str) -> ChildStatus:
        """Answer what a run has asked, or tell it something for its next turn; one that waits goes on."""
        paths = self._paths(child_id)
        desk = RunControl(self._book().inbox, log_ports())
        if _view(paths).pending.questions:
            desk.answer(paths, message)
        else:
            desk.send(paths, message)
        return await self.resume(child_id)

    async def resume(self, child_id: str) -> ChildStatus:
        """Go on with a run that stopped before its end."""
        paths = self._paths(child_id)
        if not self._running(child_id) and _view(paths).state.open:
            crew = self._crew()
            await self._begin(child_id, crew, crew.agent.resume(paths.root))
        return self._status(child_id)

    async def close(self, child_id: str) -> ChildStatus:
        """Stop a run; returns when it is gone."""
        paths = self._paths(child_id)
        if self._running(child_id):
            await self._work[child_id].dispatcher.cancel(child_id)
        else:
            try:
                RunControl(self._book().inbox, log_ports()).cancel(paths, "closed")
            except LogEnded:
                return self._status(child_id)
        return self._status(child_id)

    async def cancel_all(self) -> int:
        """End those that are worked on, and return how many that were when they are gone."""
        running = [child_id for child_id in self._work if self._running(child_id)]
        await asyncio.gather(*(self._work[child_id].dispatcher.cancel(child_id) for child_id in running))
        return len(running)

    async def aclose(self) -> None:
        """Stop the work on all of them; they can be resumed."""
        running = [child_id for child_id in self._work if self._running(child_id)]
        await asyncio.gather(*(self._work[child_id].dispatcher.stop(child_id) for child_id in running))
        for crew in self._crews:
            await crew.aclose()
        if self._ledger is not None:
            self._ledger.close()

    def _crew(self) -> "_Crew":
        """An agent with the settings of now; runs that began under others keep theirs."""
        from skills_runtime.config import resolve

        resolved = resolve(self._root)
        # A model that follows a script begins it anew for every run.
        shared = self._crews and resolved.settings.llm.backend == "openai"
        if not shared or self._crews[-1].resolved.settings != resolved.settings:
            self._crews.append(_Crew(resolved, self._book()))
        return self._crews[-1]

    def _book(self) -> Ledger:
        if self._ledger is None:
            from skills_runtime.config import state_home

            self._ledger = open_ledger(state_home(), clock=SystemClock(), ids=RandomIds())
        return self._ledger

    async def _begin(self, child_id: str, crew: "_Crew", run: Run) -> None:
        await crew.dispatcher.submit(run)
        result = asyncio.create_task(crew.dispatcher.result(child_id), name=f"child {child_id}")
        self._work[child_id] = _Work(crew.dispatcher, result)

    def _running(self, child_id: str) -> bool:
        return child_id in self._work and not self._work[child_id].result.done()

    def _paths(self, child_id: str) -> RunPaths:
        paths = RunPaths(runs_root(self._root) / child_id)
        if not child_id.startswith(PREFIX) or not is_legal_id(child_id) or not paths.events.exists():
            raise NotFound(f"there is no child agent `{child_id[:100]!a}`", hint="`collab.list` tells which there are")
        return paths

    def _status(self, child_id: str) -> ChildStatus:
        if self._running(child_id):
            return ChildStatus(id=child_id, status="running")
        state = _view(self._paths(child_id)).state
        return ChildStatus(
            id=child_id,
            status=result_status(state.status),
            final_output=state.final_output or state.failure_reason or state.waiting_message,
            error_kind=state.error_kind,
        )


class _Work(NamedTuple):
    """A child that is or was worked on in this process."""

    dispatcher: LocalDispatcher
    result: asyncio.Task[RunResult]


class _Crew:
    """An agent and the dispatcher that executes its runs."""

    def __init__(self, resolved: "Resolved", ledger: Ledger) -> None:
        self.resolved = resolved
        self._backend: Backend = backend_for(resolved)  # settings that cannot work leave no run behind
        prices_of(resolved)
        equipment = AgentOptions(
            tools=builtin_tools(), backend=self._backend, inbox=ledger.inbox, approver=InboxApprovals(), depth=1
        )
        self.agent = Agent.from_resolved(resolved, equipment)
        self.dispatcher = LocalDispatcher(self.agent, ledger.index, inbox=ledger.inbox)

    async def aclose(self) -> None:
        """Wait for what is under way, and close the model's connections."""
        await self.dispatcher.drain()
        close: Callable[[], Awaitable[None]] | None = getattr(self._backend, "aclose", None)
        if close is not None:
            await close()


def _view(paths: RunPaths) -> RunView:
    return read_view(paths, log_ports())
