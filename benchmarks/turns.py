"""CPU of one turn with a trivial tool, with the log on: at the beginning of a run and after two thousand turns."""

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
    """A model that calls a tool every turn and notes the CPU time at which it is asked."""

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
    """Milliseconds of one turn, averaged over a window that begins at `first`."""
    return (asked[first + WINDOW] - asked[first]) / WINDOW * 1000


def measure(base: Path) -> tuple[float, float]:
    model = Caller(TURNS)
    agent = Agent(workspace_root=base, backend=model, session_settings={"run": {"max_steps": TURNS + 1}})

    @agent.tool(effect="read")
    async def nothing() -> str:  # pyright: ignore[reportUnusedFunction]
        """Do nothing."""
        return "ok"

    result = asyncio.run(agent.run_async("go"))
    assert result.status == "completed", result
    return per_turn(model.asked, AT), per_turn(model.asked, TURNS - WINDOW)


def main() -> None:
    with directory() as base:
        early, late = measure(base)
    report(
        Number("turn with a trivial tool at turn 20, CPU", early, "ms", 0.30, "at most"),
        Number("turn with a trivial tool at turn 2,000, CPU", late, "ms", 0.30, "at most"),
        Number("turn 2,000 over turn 20", late / early, "x", 1.3, "at most"),
    )


if __name__ == "__main__":
    main()
