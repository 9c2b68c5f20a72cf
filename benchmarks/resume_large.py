"""Measure the time and memory of a fresh process that opens a run of one gigabyte to resume it.

The agent itself writes the log with its default settings: long answers, calls and compactions.
"""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

from benchmarks.fixture import directory
from benchmarks.measure import Number, cpu_of, report
from skills_runtime.agent import Agent, RunRequest
from skills_runtime.agent.loop.control import Control
from skills_runtime.events import Event
from skills_runtime.events.states import RunStatus
from skills_runtime.ports import ChatRequest, ChatStreamEvent, ToolCall

GIGABYTE = 1_000_000_000
PIECE = ChatStreamEvent(type="text_delta", text="y" * 4096)
PIECES = 20
"""Answers of 80 kB; a gigabyte of them is more than any real run."""


class Writer:
    """A model that writes long answers and calls a tool in every turn, endlessly."""

    async def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        if request.purpose == "compaction":
            yield ChatStreamEvent(type="text_delta", text="z" * 4000)
        else:
            for _ in range(PIECES):
                yield PIECE
            call = ToolCall(id=f"call_{request.turn_id}", name="note", arguments='{"text":"a note"}')
            yield ChatStreamEvent(type="tool_calls", tool_calls=[call])
        yield ChatStreamEvent(type="completed", finish_reason="stop")


def agent_in(base: Path) -> Agent:
    settings = {"run": {"max_steps": 1_000_000, "max_wall_time_sec": None}}
    agent = Agent(workspace_root=base, backend=Writer(), session_settings=settings)

    @agent.tool(effect="read")
    async def note(text: str) -> str:  # pyright: ignore[reportUnusedFunction]
        """Remember something."""
        return text

    return agent


def write_gigabyte(base: Path) -> Path:
    """Let the agent work until its log is large enough, then stop."""
    agent, control = agent_in(base), Control()
    run = agent.create(RunRequest(prompt="a long task"))
    log = run.paths.events

    def watch(event: Event) -> None:
        if event.type == "llm_request_started" and log.stat().st_size >= GIGABYTE:
            control.yielding = True

    run.log.listen(watch)
    asyncio.run(agent.execute(run, control=control))
    return run.paths.root


def resume(root: Path, base: Path) -> None:
    """Resume the run in a fresh process and measure it."""
    run = agent_in(base).resume(root)
    assert run.state.status is RunStatus.RUNNING
    run.close()


def main() -> None:
    if len(sys.argv) == 3:
        resume(Path(sys.argv[1]), Path(sys.argv[2]))
        return
    with directory() as base:
        os.environ["XDG_STATE_HOME"] = str(base / "state")  # the keys of this run are not the user's
        start = time.perf_counter()
        root = write_gigabyte(base)
        print(f"  wrote 1 GB in {time.perf_counter() - start:.0f} s", file=sys.stderr)
        seconds, memory = cpu_of(sys.executable, "-m", "benchmarks.resume_large", str(root), str(base))
    report(
        Number("open and fold a 1 GB log for resume, CPU", seconds, "s", 2, "at most"),
        Number("memory of that process", memory, "MB", 100, "at most"),
    )


if __name__ == "__main__":
    main()
