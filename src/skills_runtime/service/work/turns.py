"""How many runs are worked on at once: each has a dispatcher of its own, and all wait for the same turns."""

import asyncio
from pathlib import Path
from typing import cast

from skills_runtime.agent import Agent, RunResult
from skills_runtime.agent.loop.control import Control
from skills_runtime.engine import LocalDispatcher
from skills_runtime.ledger import RunIndex
from skills_runtime.runs import Run


class Turn:
    """An agent that waits for its turn before it works."""

    def __init__(self, agent: Agent, turns: asyncio.Semaphore) -> None:
        self._agent = agent
        self._turns = turns

    @property
    def workspace_root(self) -> Path:
        """Where the agent works."""
        return self._agent.workspace_root

    async def execute(self, run: Run, *, control: Control | None = None) -> RunResult:
        """Work on a run when it is its turn."""
        async with self._turns:
            return await self._agent.execute(run, control=control)


def dispatcher_for(agent: Agent, index: RunIndex, turns: asyncio.Semaphore) -> LocalDispatcher:
    """Who executes one run; nothing of it is kept when the run is over."""
    # The dispatcher asks nothing else of an agent than a turn has.
    return LocalDispatcher(cast("Agent", Turn(agent, turns)), index, slots=1)
