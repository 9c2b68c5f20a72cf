"""A run that does a bit of everything, in a world that can be stopped at any moment and gone on with later.

The world is one directory: the workspace with the run, what its tools did outside the log, and the inbox. Whoever
copies the directory at some moment has what a machine would have had if the process had been killed right then.
"""

import os
import signal
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from skills_runtime.agent import Agent, RunResult
from skills_runtime.agent.assembly.ports import log_ports
from skills_runtime.clock import RandomIds, SystemClock
from skills_runtime.engine import Desk
from skills_runtime.errors import LogEnded
from skills_runtime.events import Event
from skills_runtime.ledger import SqliteInbox, open_ledger
from skills_runtime.llm import ScriptedBackend
from skills_runtime.ports import Backend, ToolContext, ToolResult, ToolSpec
from skills_runtime.runs import RunPaths, runs_root
from tests.support.agents import Doing, Watched, calls, says, writes

RUN_ID = "run_1"
STEERS = ("hurry", "be brief")
CONTENT = "geschrieben ü"

SCRIPT = [
    calls(("look", {"n": 1}), ("look", {"n": 2}), text="Let me look."),
    calls(writes("a.txt", CONTENT), ("append", {"line": "one"}), ("no_such_tool", {}), ("file_read", {"path": 7})),
    calls(("charge", {"amount": 3}), ("nudge", {}), ("look", {"n": 3}), ids=["same", "nudge", "look"]),
    calls(("look", "{broken"), ("functions.look", "[]"), ("file_read", "")),
    calls(("look", {"n": 4}), ("ask_human", {"question": "Which colour?"}), ("look", {"n": 5})),
    calls(("append", {"line": "two"}), ("append", {"line": "three"}), ids=["same", "other"]),
    calls(writes("deliverables/report.md", "# Report"), text="Now the report."),
    says("All ", "done."),
]
"""Reads side by side, idempotent and effectful calls, some that cannot be made, a message, a question."""

CALLS = sum(len(event.tool_calls or ()) for answer in SCRIPT for event in answer.events)

Moment = Callable[[str], None]
"""Called whenever the process could die: after each event, and around each effect."""


def passes(name: str) -> None:
    """A moment at which nothing happens."""


class Charge:
    """An effect whose tool can find out whether it happened."""

    spec = ToolSpec(
        name="charge",
        description="Charges the card.",
        parameters={"type": "object"},
        effect="effectful",
        recovery="verify",
    )

    def __init__(self, ledger: Path, moment: Moment) -> None:
        self._ledger = ledger
        self._moment = moment

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Charge."""
        self._moment("before charge")
        _add(self._ledger, f"{context.run_id} {context.call_id} {arguments['amount']}")
        self._moment("after charge")
        return ToolResult(ok=True, stdout="charged")

    async def verify(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult | None:
        """Look whether the charge is there."""
        there = f"{context.run_id} {context.call_id} {arguments['amount']}" in lines_in(self._ledger)
        return ToolResult(ok=True, stdout="charged") if there else None


class World:
    """Everything that outlives a process."""

    def __init__(self, place: Path) -> None:
        self.workspace = place / "workspace"
        self.effects, self.charges = place / "effects.txt", place / "charges.txt"
        self._ledger = place / "ledger"
        self.paths = RunPaths(runs_root(self.workspace) / RUN_ID)

    @contextmanager
    def inbox(self) -> Generator[SqliteInbox]:
        """The durable inbox, as one process has it open."""
        with open_ledger(self._ledger, clock=SystemClock(), ids=RandomIds()) as ledger:
            yield ledger.inbox

    def agent(self, backend: Backend, inbox: SqliteInbox, moment: Moment = passes) -> Agent:
        """A fresh agent, as a new process would make it."""
        self.workspace.mkdir(exist_ok=True)

        def happened(event: Event) -> None:
            moment(event.type)

        agent = Agent(
            workspace_root=self.workspace,
            backend=backend,
            session_settings={"safety": {"mode": "allow"}},
            inbox=inbox,
            event_hooks=[happened],
        )
        agent.register_tool(Doing(_look, name="look", effect="read"))
        agent.register_tool(Doing(self._append(moment), name="append"))
        agent.register_tool(Doing(_nudge(inbox), name="nudge", effect="idempotent"))
        agent.register_tool(Charge(self.charges, moment))
        return agent

    def go_on(self, backend: Backend, moment: Moment = passes) -> RunResult | None:
        """Work on the run until it has ended, answering what it asks; nothing when it had ended before."""
        with self.inbox() as inbox:
            inbox.send(RUN_ID, "steer", {"text": STEERS[0]}, idempotency_key="first")
            desk = Desk(inbox, log_ports())
            while True:
                try:
                    result = self.agent(backend, inbox, moment).run("Go.", run_id=RUN_ID)
                except LogEnded:
                    return None
                if result.status != "waiting_human":
                    return result
                desk.answer(self.paths, "blue", key="answer")
                moment("answered")

    def _append(self, moment: Moment) -> Callable[[Mapping[str, Any], ToolContext], Any]:
        async def append(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
            moment("before append")
            _add(self.effects, str(arguments["line"]))
            moment("after append")
            return ToolResult(ok=True, stdout=f"appended {arguments['line']}")

        return append


async def _look(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
    return ToolResult(ok=True, stdout=f"seen {arguments['n']}")


def _nudge(inbox: SqliteInbox) -> Callable[[Mapping[str, Any], ToolContext], Any]:
    async def nudge(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        inbox.send(context.run_id, "steer", {"text": STEERS[1]}, idempotency_key="nudge")
        return ToolResult(ok=True, stdout="nudged")

    return nudge


def lines_in(path: Path) -> list[str]:
    """The lines of a file, none when it is not there."""
    return path.read_text().splitlines() if path.exists() else []


def _add(path: Path, line: str) -> None:
    with path.open("a") as file:
        file.write(f"{line}\n")


def moments_of(place: Path, watched: Watched) -> list[str]:
    """Run the script straight through and name every moment of it."""
    names: list[str] = []
    result = World(place).go_on(watched, names.append)
    assert result is not None
    assert result.status == "completed"
    return names


def die_at(say: IO[bytes], hear: IO[bytes], place: Path, number: int) -> None:
    """Run the script until the moment with this number, and then be killed; called in a child."""
    os.environ["XDG_STATE_HOME"] = str(place / "state")
    left = number

    def moment(name: str) -> None:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    with suppress(LogEnded):
        World(place).go_on(ScriptedBackend(SCRIPT), moment)
