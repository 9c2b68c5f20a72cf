"""Several agents at work on one thing: each task is a run, and what a child found reaches its parent as history."""

import asyncio
from collections.abc import Sequence

import msgspec

from skills_runtime.agent.agent import Agent
from skills_runtime.agent.result import ResultStatus, RunResult
from skills_runtime.errors import ValidationFailed


class ChildResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a child's task."""

    summary: str
    status: ResultStatus
    artifacts: tuple[str, ...]
    wal_locator: str


class Coordinator:
    """Hands tasks to agents; the first of them is the parent."""

    def __init__(self, agents: Sequence[Agent]) -> None:
        if not agents:
            raise ValidationFailed("a coordinator needs an agent")
        self._agents = tuple(agents)

    def run(self, task: str) -> RunResult:
        """Let the parent work on a task."""
        return self._agents[0].run(task)

    def run_child_task(self, task: str, *, child: int = 1) -> ChildResult:
        """Let one of the other agents work on a task."""
        return _child(self._agent(child).run(task))

    def run_with_child(self, task: str, child_task: str, *, child: int = 1) -> RunResult:
        """Let a child work first, and the parent go on from what it found."""
        found = self.run_child_task(child_task, child=child)
        history = [{"role": "user", "content": child_task}, {"role": "assistant", "content": found.summary}]
        return self._agents[0].run(task, initial_history=history)

    async def run_children_concurrent(self, tasks: Sequence[str]) -> list[ChildResult]:
        """Let the other agents work on these tasks at the same time, in turn when there are more tasks than agents."""
        others = self._agents[1:] or self._agents
        work = [others[number % len(others)].run_async(task) for number, task in enumerate(tasks)]
        return [_child(result) for result in await asyncio.gather(*work)]

    def _agent(self, number: int) -> Agent:
        if not 0 <= number < len(self._agents):
            raise ValidationFailed(f"there is no agent {number}", hint=f"there are {len(self._agents)}, from 0")
        return self._agents[number]


def _child(result: RunResult) -> ChildResult:
    return ChildResult(
        summary=result.final_output, status=result.status, artifacts=result.artifacts, wal_locator=result.wal_locator
    )
