"""Measure the CPU time of one turn with a trivial tool and the log: at the start of a run and after 2,000 turns.

The plain function is a typical first tool of a user: not async and with defaults, so it may have effects, and both its
start and its end are durable. The async one, declared `read`, needs neither a thread nor a sync.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

from benchmarks.fixture import directory
from benchmarks.measure import Number, report
from skills_runtime.agent import Agent
from skills_runtime.ports import ChatRequest, ChatStreamEvent, ToolCall

TURNS = 2_000
WINDOW = 100
AT = 20


class Caller:
    """A model that calls a tool in every turn and records the CPU time of each request."""

    def __init__(self, turns: int) -> None:
        self.asked: list[float] = []
        self._turns = turns

    async def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        turn = len(self.asked)
        self.asked.append(time.process_time())
        if turn < self._turns:
            call = ToolCall(id=f"call_{turn}", name="nothing", arguments="{}")
            yield ChatStreamEvent(type="tool_calls", tool_calls=[call])
        else:
            yield ChatStreamEvent(type="text_delta", text="done")
        yield ChatStreamEvent(type="completed", finish_reason="stop", usage={"input_tokens": 10, "output_tokens": 1})


def per_turn(asked: list[float], first: int) -> float:
    """Return the milliseconds per turn, averaged over a window that begins at `first`."""
    return (asked[first + WINDOW] - asked[first]) / WINDOW * 1000


async def measure(base: Path, *, plain: bool) -> tuple[float, float]:
    """Return the milliseconds of a turn early and late in a run, for a plain function or an async `read` one."""
    base.mkdir()
    model = Caller(TURNS)
    agent = Agent(workspace_root=base, backend=model, session_settings={"run": {"max_steps": TURNS + 1}})

    def nothing() -> str:
        """Do nothing."""
        return "ok"

    async def read_nothing() -> str:
        """Read nothing."""
        return "ok"

    if plain:
        agent.tool(nothing)
    else:
        agent.tool(name="nothing", effect="read")(read_nothing)
    result = await agent.run_async("go")
    assert result.status == "completed", result
    return per_turn(model.asked, AT), per_turn(model.asked, TURNS - WINDOW)


def main() -> None:
    with directory() as base:
        early, late = asyncio.run(measure(base / "plain", plain=True))
        read_early, read_late = asyncio.run(measure(base / "read", plain=False))
    report(
        Number("turn with a plain function at turn 20, CPU", early, "ms", 0.70, "at most"),
        Number("turn with a plain function at turn 2,000, CPU", late, "ms", 0.70, "at most"),
        Number("plain function, turn 2,000 over turn 20", late / early, "x", 1.3, "at most"),
        Number("turn with an async `read` tool at turn 20, CPU", read_early, "ms", 0.25, "at most"),
        Number("turn with an async `read` tool at turn 2,000, CPU", read_late, "ms", 0.25, "at most"),
        Number("async `read` tool, turn 2,000 over turn 20", read_late / read_early, "x", 1.3, "at most"),
    )


if __name__ == "__main__":
    main()
