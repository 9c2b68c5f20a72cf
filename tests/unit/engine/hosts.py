"""One agent behind the inline dispatcher, as `RunService` stands behind it."""

import asyncio
from pathlib import Path

from skills_runtime.agent import Agent, RunRequest
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.engine import InlineDispatcher, OpenedRun
from skills_runtime.engine.recovery import should_continue
from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.ledger import Ledger
from skills_runtime.projections import RunState
from skills_runtime.runs import LogPorts, RunPaths, open_run, read_view, runs_root

WAIT = 30


class AgentHost:
    """Opens the runs of one agent, and knows which are worked on."""

    def __init__(self, agent: Agent, ledger: Ledger, *, ports: LogPorts | None = None, slots: int = 8) -> None:
        self.dispatcher = InlineDispatcher(self, ledger, slots=slots)
        self.errors: dict[str, SkillsRuntimeError] = {}
        self.opened: list[str] = []
        self._agent = agent
        self._ledger = ledger
        self._ports = ports
        self._active: dict[str, asyncio.Event] = {}

    def create(self, run_id: str = "run_1", prompt: str = "Go.") -> RunPaths:
        """Create a run; nobody holds it when this returns."""
        run = self._agent.create(RunRequest(prompt=prompt, run_id=run_id))
        run.close()
        return run.paths

    async def start(self, run_id: str = "run_1", prompt: str = "Go.") -> RunPaths:
        """Create a run and schedule it."""
        paths = self.create(run_id, prompt)
        await self.dispatcher.schedule(run_id)
        return paths

    async def wait(self, run_id: str = "run_1") -> RunState:
        """The state of a run once nobody works on it any more."""
        if run_id in self._active:
            await asyncio.wait_for(self._active[run_id].wait(), WAIT)
        return self.state(run_id)

    async def drain(self) -> None:
        await asyncio.wait_for(self.dispatcher.drain(), WAIT)

    def state(self, run_id: str) -> RunState:
        return read_view(RunPaths(self._root(run_id)), log_ports()).state

    def open(self, run_id: str) -> OpenedRun:
        self.opened.append(run_id)
        root = self._root(run_id)
        run = self._agent.resume(root) if self._ports is None else open_run(root, self._ports)
        return OpenedRun(run, self._agent)

    def should_continue(self, run_id: str) -> bool:
        return should_continue(self.state(run_id), self._ledger.inbox.pending(run_id))

    def on_started(self, run_id: str) -> None:
        self._active[run_id] = asyncio.Event()

    def on_finished(self, run_id: str, error: SkillsRuntimeError | None) -> None:
        if error is not None:
            self.errors[run_id] = error
        self._active.pop(run_id).set()

    def _root(self, run_id: str) -> Path:
        return runs_root(self._agent.workspace_root) / run_id
