"""Runs with very large things in them, in a child whose memory is measured."""

import os
import resource
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import msgspec

from skills_runtime.agent import Agent
from skills_runtime.ports import ToolContext, ToolResult
from tests.support.agents import Doing, Watched, agent_in, calls, events_of, says, succeed

MEGABYTE = 1 << 20


class Measured(msgspec.Struct, kw_only=True):
    """What a run needed."""

    status: str
    memory: int
    """How much the process grew, at most."""
    request: int
    """How long the longest request was, without its tools."""
    log: int
    """How many bytes the log has."""
    tools: int = 0
    blobs: int = 0
    """How many bytes are in blobs."""


def measure(say: IO[bytes], hear: IO[bytes], place: Path, what: str) -> None:
    """Do one of the things below and say what it needed; called in a child."""
    os.environ["XDG_STATE_HOME"] = str(place / "state")
    (place / "workspace").mkdir()
    watched = _small(place / "warm")  # what every first run needs is not counted
    before = _peak()
    agent, watched, task = _CASES[what](place / "workspace")
    result = agent.run(task)
    root = Path(result.wal_locator).parent
    measured = Measured(
        status=result.status,
        memory=_peak() - before,
        request=max(sum(len(str(one)) for one in request.messages) for request in watched.requests),
        log=(root / "events.jsonl").stat().st_size,
        tools=len(watched.requests[-1].tools),
        blobs=sum(path.stat().st_size for path in (root / "blobs").rglob("*") if path.is_file()),
    )
    assert len(events_of(result.wal_locator)) > 4
    say.write(msgspec.json.encode(measured))


def _small(place: Path) -> Watched:
    place.mkdir()
    watched = Watched([calls(("do", {})), says("done")])
    agent = agent_in(place, watched)
    agent.register_tool(Doing(succeed))
    agent.run("Go.")
    return watched


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


async def _flood(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
    text = f"{arguments['n']}{'ü' * (5 * MEGABYTE)}"
    return ToolResult(ok=True, stdout=text, data={"small": 1})


def _results(place: Path) -> tuple[Agent, Watched, str]:
    watched = Watched([*(calls(("flood", {"n": n})) for n in range(5)), says("done")])
    agent = agent_in(place, watched)
    agent.register_tool(Doing(_flood, name="flood", effect="read"))
    return agent, watched, "Go."


def _tools(place: Path) -> tuple[Agent, Watched, str]:
    watched = Watched([*(calls((f"tool_{n}", {})) for n in range(0, 1000, 100)), says("done")])
    agent = agent_in(place, watched)
    for number in range(1000):
        agent.register_tool(Doing(succeed, name=f"tool_{number}", effect="read"))
    return agent, watched, "Go."


def _task(place: Path) -> tuple[Agent, Watched, str]:
    watched = Watched([*(calls(("file_read", {"path": "x"})) for _ in range(20)), says("done")])
    agent = agent_in(place, watched, settings={"run": {"context_recovery": {"window_tokens": 10_000_000}}})
    return agent, watched, "任务 " * (MEGABYTE // 7)


def _arguments(place: Path) -> tuple[Agent, Watched, str]:
    content = "x" * (10 * MEGABYTE)
    watched = Watched([calls(("file_write", {"path": "a.txt", "content": content})), says("done")])
    return agent_in(place, watched), watched, "Go."


def _answer(place: Path) -> tuple[Agent, Watched, str]:
    watched = Watched([says(*("x" * 1000 for _ in range(4 * 1024)))])
    return agent_in(place, watched), watched, "Go."


_CASES: dict[str, Callable[[Path], tuple[Agent, Watched, str]]] = {
    "results": _results,
    "tools": _tools,
    "task": _task,
    "arguments": _arguments,
    "answer": _answer,
}
