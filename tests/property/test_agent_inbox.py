"""Messages to a run that is worked on, killed, parked and gone on with: each is taken in once, and in order."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from skills_runtime.agent import Agent
from skills_runtime.agent.options import RunRequest
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.clock import RandomIds, SystemClock
from skills_runtime.engine import RunControl
from skills_runtime.events import Event
from skills_runtime.events.states import RunStatus
from skills_runtime.ledger import Ledger, open_ledger
from skills_runtime.ports import ChatRequest, ChatStreamEvent, Inbox, ToolContext, ToolResult
from skills_runtime.runs import RunPaths, read_events, read_view, runs_root, verify_run
from skills_runtime.testing import says
from skills_runtime.testing.inbox import InMemoryInbox
from tests.support.agents import Doing, Flaky, calls
from tests.support.events import check_request
from tests.support.examples import examples

RUN_ID = "run_1"
FINISH = "finish"
TURNS = [
    calls(("look", {"n": 1}), ("look", {"n": 2}), text="I look."),
    calls(("look", {"n": 3}), ("ask_human", {"question": "Go on?"})),
    calls(("append", {}), ("look", {"n": 4})),
]


class Killed(BaseException):
    """The process dies."""


class Chatty:
    """A model that goes round in circles until it is told to finish."""

    def __init__(self) -> None:
        self.requests: list[ChatRequest] = []

    async def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        """Answer."""
        self.requests.append(request)
        done = any(message["content"] == FINISH for message in request.messages)
        for event in (says("done") if done else TURNS[request.answered % len(TURNS)]).events:
            yield event


async def _done(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
    return ToolResult(ok=True)


class SteeringMachine(RuleBasedStateMachine):
    """One run, the people who talk to it, and the processes that work on it and die."""

    def make_inbox(self) -> Inbox:
        """The inbox under test; it outlives every process."""
        return InMemoryInbox()

    @initialize()
    def start(self) -> None:
        self.place = Path(tempfile.mkdtemp(prefix="steering-"))
        (self.place / "workspace").mkdir()
        self.inbox = self.make_inbox()
        self.model = Chatty()
        self.sent: list[str] = []
        self.paths = RunPaths(runs_root(self.place / "workspace") / RUN_ID)
        self.agent().create(RunRequest(prompt="Go.", run_id=RUN_ID)).close()
        self.desk = RunControl(self.inbox, log_ports())

    def agent(self, *, failing: int = 0, die_after: int | None = None) -> Agent:
        """The agent of a new process, which dies after so many events, or finds its inbox busy so many times."""
        left = die_after

        def die(event: Event) -> None:
            nonlocal left
            if left is not None:
                left -= 1
                if left <= 0:
                    raise Killed

        agent = Agent(
            workspace_root=self.place / "workspace",
            backend=self.model,
            session_settings={"safety": {"mode": "allow"}, "run": {"max_steps": 10_000}},
            inbox=Flaky(self.inbox, pending=failing, acknowledge=failing),
            event_hooks=[die],
        )
        agent.register_tool(Doing(_done, name="look", effect="read"))
        agent.register_tool(Doing(_done, name="append"))
        return agent

    @rule(times=st.integers(1, 3))
    def send(self, times: int) -> None:
        """Somebody says something, perhaps twice because the first time seemed lost."""
        text = f"message {len(self.sent) + 1}"
        for _ in range(times):
            self.desk.send(self.paths, text, key=text)
        self.sent.append(text)

    @rule(failing=st.integers(0, 2))
    def work(self, failing: int) -> None:
        """A process works on the run until it parks."""
        result = self.agent(failing=failing).run("", run_id=RUN_ID)
        assert result.status == "waiting_human"

    @rule(events=st.integers(1, 25))
    def die(self, events: int) -> None:
        """A process works on the run and is killed, if it lives so long."""
        with suppress(Killed):
            self.agent(die_after=events).run("", run_id=RUN_ID)

    @precondition(lambda self: self.asks())
    @rule()
    def answer(self) -> None:
        """Somebody answers."""
        self.desk.answer(self.paths, "yes", key=f"answer {len(self.events())}")

    def asks(self) -> bool:
        """Whether a question is open."""
        return bool(read_view(self.paths, log_ports()).pending.questions)

    def events(self) -> list[Event]:
        """The log."""
        return list(read_events(self.paths))

    @invariant()
    def no_message_is_recorded_twice_or_out_of_order(self) -> None:
        received: list[Any] = [event.payload for event in self.events() if event.type == "inbox_received"]
        assert [payload.position for payload in received] == list(range(1, len(received) + 1))
        steered = [payload.body["text"] for payload in received if payload.kind == "steer"]
        assert steered == self.sent[: len(steered)]

    @invariant()
    def every_request_keeps_the_rules_of_providers(self) -> None:
        for request in self.model.requests[-1:]:
            check_request(request)

    def teardown(self) -> None:
        """Let the run come to its end; then everything was heard."""
        if not hasattr(self, "desk"):
            return
        self.desk.send(self.paths, FINISH)
        self.sent.append(FINISH)
        while read_view(self.paths, log_ports()).state.status is not RunStatus.COMPLETED:
            if self.asks():
                self.answer()
            self.agent().run("", run_id=RUN_ID)
        texts = [message["content"] for message in self.model.requests[-1].messages if message["role"] == "user"]
        assert texts == ["Go.", *self.sent]
        assert self.inbox.pending(RUN_ID) == ()
        check_request(self.model.requests[-1])
        assert verify_run(self.paths.root, log_ports().keys).findings == []
        shutil.rmtree(self.place)


class SqliteSteeringMachine(SteeringMachine):
    """The same with the inbox of the product."""

    ledger: Ledger | None = None

    def make_inbox(self) -> Inbox:
        self.ledger = open_ledger(self.place / "ledger", clock=SystemClock(), ids=RandomIds())
        return self.ledger.inbox

    def teardown(self) -> None:
        super().teardown()
        if self.ledger is not None:
            self.ledger.close()


SteeringMachine.TestCase.settings = settings(max_examples=examples(15), stateful_step_count=12)
SqliteSteeringMachine.TestCase.settings = settings(max_examples=examples(10), stateful_step_count=12)
TestSteering = SteeringMachine.TestCase
TestSteeringByTheLedger = SqliteSteeringMachine.TestCase


def test_a_killed_process_of_the_machine_really_dies_in_the_middle() -> None:
    machine = SteeringMachine()
    machine.start()
    before = len(machine.events())
    machine.die(7)
    assert len(machine.events()) == before + 7
    machine.teardown()
