"""Measure concurrent runs: durable runs per second, and runs whose tools wait at the same time."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

from benchmarks.fixture import directory
from benchmarks.measure import Number, report
from skills_runtime.agent import Agent
from skills_runtime.ports import ChatRequest, ChatStreamEvent, ToolCall

DURABLE_RUNS = 100
# The best round counts: other work on the machine and its disk only makes rounds slower.
ROUNDS = 8
WAITING_RUNS = 50


class Caller:
    """A model that calls a tool for some turns and then ends, for any run."""

    def __init__(self, tool: str, *, turns: int, calls: int = 1) -> None:
        self._tool = tool
        self._turns = turns
        self._calls = calls

    async def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        turn = sum(message["role"] == "assistant" for message in request.messages)
        if turn < self._turns:
            asked = [ToolCall(id=f"c{turn}_{number}", name=self._tool, arguments="{}") for number in range(self._calls)]
            yield ChatStreamEvent(type="tool_calls", tool_calls=asked)
        else:
            yield ChatStreamEvent(type="text_delta", text="done")
        yield ChatStreamEvent(type="completed", finish_reason="stop")


def agent_with(base: Path, name: str, model: Caller, seconds: float = 0) -> Agent:
    workspace = base / name
    workspace.mkdir()
    agent = Agent(workspace_root=workspace, backend=model)

    @agent.tool
    def plain() -> str:  # pyright: ignore[reportUnusedFunction]
        """Do nothing: a typical first function of a user, not async and with defaults."""
        return "ok"

    @agent.tool(effect="read")
    async def pause() -> str:  # pyright: ignore[reportUnusedFunction]
        """Wait."""
        if seconds:
            await asyncio.sleep(seconds)
        return "ok"

    return agent


async def together(agent: Agent, runs: int) -> float:
    """Return the wall seconds of this many concurrent runs."""
    start = time.perf_counter()
    results = await asyncio.gather(*(agent.run_async("go") for _ in range(runs)))
    assert {result.status for result in results} == {"completed"}
    return time.perf_counter() - start


async def durable(base: Path, tool: str) -> tuple[float, float]:
    """Return runs per second, and the CPU milliseconds of the event loop's thread for each."""
    agents = [agent_with(base, f"{tool}_{number}", Caller(tool, turns=4)) for number in range(ROUNDS)]
    walls, cpus = list[float](), list[float]()
    for agent in agents:
        begun = time.thread_time()
        walls.append(await together(agent, DURABLE_RUNS))
        cpus.append(time.thread_time() - begun)
    return DURABLE_RUNS / min(walls), min(cpus) / DURABLE_RUNS * 1000


async def measure(base: Path) -> tuple[Number, ...]:
    await together(agent_with(base, "warm", Caller("plain", turns=1)), 2)
    plain_rate, _ = await durable(base, "plain")
    rate, cpu = await durable(base, "pause")
    waiting = await together(agent_with(base, "waiting", Caller("pause", turns=1), 0.05), WAITING_RUNS)
    parallel = await together(agent_with(base, "parallel", Caller("pause", turns=1, calls=5), 0.2), 1)
    return (
        Number("100 durable runs of 5 turns at once, plain function", plain_rate, "/s", 350, "at least"),
        Number("100 durable runs of 5 turns at once, async `read` tool", rate, "/s", 350, "at least"),
        Number("one of them, CPU of the event loop", cpu, "ms", 2.5, "at most"),
        Number("50 runs at once, each with a tool of 50 ms", waiting, "s", 0.3, "at most"),
        Number("five calls of 200 ms in one turn", parallel, "s", 0.3, "at most"),
    )


def main() -> None:
    with directory() as base:
        report(*asyncio.run(measure(base)))


if __name__ == "__main__":
    main()
