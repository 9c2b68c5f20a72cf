"""Sub-agents that ask somebody: what becomes of them when the run that began them ends."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path

import msgspec
from skills_runtime.agent.assemble import log_ports

from skills_runtime.agent import Agent
from skills_runtime.engine import Desk
from skills_runtime.events import Event
from skills_runtime.events.payloads import ChildRunFinished
from skills_runtime.llm import FakeChatCall
from skills_runtime.ports import ChatRequest, ChatStreamEvent
from skills_runtime.projections import RunState
from skills_runtime.runs import RunPaths, read_view, runs_root
from skills_runtime.testing import InMemoryInbox
from tests.support.agents import calls, says

FIRST = "$first"
"""Stands for the id of the first sub-agent, which only the run knows."""


class Kin:
    """A model that answers every run from the script of its task."""

    def __init__(self, scripts: Mapping[str, Sequence[FakeChatCall]]) -> None:
        self._scripts = scripts

    async def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        """Stream the next answer for this task."""
        task = next(str(one["content"]) for one in request.messages if one["role"] == "user")
        told = " ".join(str(one["content"]) for one in request.messages if one["role"] == "tool")
        begun = re.search(r'"id":"([^"]+)"', told)
        for event in self._scripts[task][request.answered].events:
            raw = msgspec.json.encode(event).decode().replace(FIRST, begun[1] if begun else FIRST)
            yield msgspec.json.decode(raw, type=ChatStreamEvent)


def spawns(task: str) -> FakeChatCall:
    return calls(("spawn_agent", {"message": task}))


WAITS = calls(("wait", {"ids": [FIRST]}))
ASKS = [calls(("ask_human", {"question": "which colour?"})), says("child done")]


def agent_of(
    place: Path, model: Kin, inbox: InMemoryInbox, event_hooks: Sequence[Callable[[Event], None]] = ()
) -> Agent:
    settings = {"safety": {"mode": "allow"}}
    return Agent(workspace_root=place, backend=model, session_settings=settings, inbox=inbox, event_hooks=event_hooks)


def states_in(place: Path) -> dict[str, RunState]:
    """Every run by its task."""
    roots = sorted(runs_root(place).iterdir())
    return {(one / "prompt.md").read_text(): read_view(RunPaths(one), log_ports()).state for one in roots}


def test_cancelling_a_run_that_nobody_works_on_ends_all_that_stand_below_it(tmp_path: Path) -> None:
    inbox = InMemoryInbox()
    scripts = {"top": [spawns("middle"), WAITS], "middle": [spawns("leaf"), WAITS], "leaf": ASKS}
    assert agent_of(tmp_path, Kin(scripts), inbox).run("top", run_id="top").status == "waiting_human"
    Desk(inbox, log_ports()).cancel(RunPaths(runs_root(tmp_path) / "top"), "not needed any more")
    found = {task: (state.status.value, state.failure_reason) for task, state in states_in(tmp_path).items()}
    below = ("cancelled", "the run that began it has ended")
    assert found == {"top": ("cancelled", "not needed any more"), "middle": below, "leaf": below}


def thoughtful(place: Path, scripts: Mapping[str, Sequence[FakeChatCall]]) -> Agent:
    """An agent with a tool that returns when a sub-agent has stopped to ask."""
    asked = asyncio.Event()

    def hear(event: Event) -> None:
        if isinstance(event.payload, ChildRunFinished):
            asked.set()

    agent = agent_of(place, Kin(scripts), InMemoryInbox(), event_hooks=[hear])

    @agent.tool
    async def think() -> str:  # pyright: ignore[reportUnusedFunction]
        """Think until a sub-agent has asked."""
        await asked.wait()
        return "thought"

    return agent


THINKS = calls(("think", {}))


def test_a_run_that_completes_leaves_no_sub_agent_behind_that_asks(tmp_path: Path) -> None:
    agent = thoughtful(tmp_path, {"top": [spawns("leaf"), THINKS, says("done")], "leaf": ASKS})
    assert agent.run("top").status == "completed"
    assert states_in(tmp_path)["leaf"].status == "cancelled"


def test_closing_a_sub_agent_that_waits_ends_those_below_it(tmp_path: Path) -> None:
    closes = calls(("close_agent", {"id": FIRST}))
    scripts = {"top": [spawns("middle"), THINKS, closes, says("done")], "middle": [spawns("leaf"), WAITS], "leaf": ASKS}
    assert thoughtful(tmp_path, scripts).run("top").status == "completed"
    found = states_in(tmp_path)
    assert (found["middle"].status, found["leaf"].status) == ("cancelled", "cancelled")
