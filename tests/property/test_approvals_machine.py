"""Approvals as a machine: whatever people send and whenever processes die, nothing runs but what was approved.

An approval is good for one execution of one call, unless it is for the session; a decision that does not count is
recorded as refused.
"""

import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from skills_runtime.agent import Agent
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.events import Event
from skills_runtime.llm import ScriptedBackend
from skills_runtime.ports import ApprovalRequest, DecisionKind, Intent, Parked, ToolContext, ToolResult, ToolSpec
from skills_runtime.projections.approvals import PendingApproval
from skills_runtime.runs import RunPaths, read_events, read_view, runs_root
from skills_runtime.testing import InMemoryInbox, says
from tests.support.agents import calls
from tests.support.examples import examples

RUN = "r"

NUMBERS = (1, 1, 2, 1, 2, 3)
SCRIPT = [*(calls(("act", {"n": n}), ids=[f"c{index}"]) for index, n in enumerate(NUMBERS)), says("done")]
MOMENTS = ("approval_requested", "inbox_received", "approval_decided", "approval_refused", "tool_call_started",
           "tool_call_finished", "run_waiting_human", "run_started")  # fmt: skip
BAD = ({"approval_key": "0" * 64}, {"run_id": "other"}, {"approval_id": "approval_0"}, {"decision": "yes"})


class Ran(NamedTuple):
    """One execution, exactly as it was."""

    call_id: str
    n: int
    content: str


class Act:
    """A tool whose calls run a script with an argument, and which remembers what it ran."""

    def __init__(self, path: Path) -> None:
        self.spec = ToolSpec(name="act", description="Acts.", parameters={"type": "object"})
        self.path = path
        self.ran: list[Ran] = []

    async def intent(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """The script with its argument."""
        return Intent(argv=("act", str(arguments["n"])), digests={"script": self.path.read_text()})

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Run it."""
        self.ran.append(Ran(context.call_id, arguments["n"], self.path.read_text()))
        return ToolResult(ok=True)


class Passing:
    """Somebody who answers a few times and then leaves the rest to others."""

    def __init__(self, answers: Sequence[DecisionKind]) -> None:
        self._answers = list(answers)

    async def request_approval(self, *, request: ApprovalRequest, timeout_ms: int | None = None) -> DecisionKind:
        """Give the next answer, if there is one."""
        if not self._answers:
            raise Parked(request.call_id)
        return self._answers.pop(0)


class ApprovalsMachine(RuleBasedStateMachine):
    """One run, its inbox, the people who decide, and processes that come and go."""

    @initialize()
    def begin(self) -> None:
        self.place = Path(tempfile.mkdtemp(prefix="approvals-"))
        (self.place / "script").write_text("0")
        self.inbox = InMemoryInbox()
        self.tool = Act(self.place / "script")
        self.paths = RunPaths(runs_root(self.place) / RUN)
        self.sent: list[dict[str, Any]] = []
        self.all_heard = True
        self._work()

    def teardown(self) -> None:
        """Take the workspace away."""
        if hasattr(self, "place"):
            shutil.rmtree(self.place)

    @rule(answers=st.sampled_from([(), (), ("approved",), ("denied",)]))
    def work(self, answers: tuple[DecisionKind, ...]) -> None:
        self._work(answers=answers)

    @precondition(lambda self: self._open())
    @rule(moment=st.sampled_from(MOMENTS), nth=st.integers(1, 2))
    def die(self, moment: str, nth: int) -> None:
        self._work(moment, nth)

    @rule(content=st.sampled_from("012"))
    def change_the_script(self, content: str) -> None:
        self.tool.path.write_text(content)

    @precondition(lambda self: self._asked() is not None)
    @rule(decision=st.sampled_from(["approved", "approved", "approved_for_session", "denied"]), edit=st.booleans())
    def decide(self, decision: str, edit: bool) -> None:
        approval = self._asked()
        if approval is None:
            return
        change = edit and decision != "denied"
        self._send(approval, {"decision": decision} | ({"arguments": {"n": 7}} if change else {}))

    @precondition(lambda self: self._asked() is not None)
    @rule(change=st.sampled_from(BAD))
    def send_what_does_not_fit(self, change: dict[str, str]) -> None:
        approval = self._asked()
        if approval is not None:
            self._send(approval, {"decision": "approved"} | change)

    @precondition(lambda self: bool(self.sent) and self._open())
    @rule(data=st.data())
    def send_again(self, data: st.DataObject) -> None:
        body = data.draw(st.sampled_from(self.sent))
        self._put(body)

    @invariant()
    def each_call_ran_at_most_once(self) -> None:
        times = Counter(call.call_id for call in (self.tool.ran if hasattr(self, "tool") else []))
        assert set(times.values()) <= {1}

    @invariant()
    def nothing_ran_but_what_was_approved_as_it_ran(self) -> None:
        if not hasattr(self, "tool") or not self.tool.ran:
            return
        events = list(read_events(self.paths))
        approved = list(self._approved(events))
        for call in self.tool.ran:
            assert call in approved, f"{call} ran, and approved were {approved}"

    @invariant()
    def every_decision_that_was_heard_counts_or_is_refused(self) -> None:
        if not hasattr(self, "tool") or not self.all_heard:
            return
        events: list[Any] = [event.payload for event in read_events(self.paths)]
        messages = [event for event in events if event.event_type == "inbox_received"]
        settled = (event for event in events if event.event_type in ("approval_decided", "approval_refused"))
        settled_counts = Counter(str(payload.message_id) for payload in settled)
        assert len(messages) == len(self.sent)
        assert all(settled_counts[payload.message_id] >= 1 for payload in messages)

    def _approved(self, events: list[Event]) -> Any:
        """Every execution that the log has an approval for."""
        requests, session = dict[str, ApprovalRequest](), dict[str, ApprovalRequest]()
        for event in events:
            payload: Any = event.payload
            if event.type == "approval_requested":
                blob = self._blob(payload.details_blob)
                requests[payload.approval_id] = msgspec.json.decode(blob, type=ApprovalRequest)
            if event.type != "approval_decided" or not payload.decision.startswith("approved"):
                continue
            request = session[payload.approval_key] if payload.reason == "session" else requests[payload.approval_id]
            assert request.approval_key == payload.approval_key
            edited = payload.arguments_blob
            if payload.decision == "approved_for_session" and not edited:
                session[payload.approval_key] = request
            n = msgspec.json.decode(self._blob(edited))["n"] if edited else request.details["n"]
            if edited:  # whoever changes a call approves of the script as it is then
                yield from (Ran(payload.call_id, n, content) for content in "012")
            else:
                yield Ran(payload.call_id, n, request.intent.digests["script"])

    def _blob(self, digest: str) -> bytes:
        return next(self.paths.blobs.rglob(digest)).read_bytes()

    def _work(self, moment: str = "", nth: int = 1, answers: Sequence[DecisionKind] = ()) -> None:
        """Go on with the run as a new process, which dies right behind an event if told so."""
        if self.paths.events.exists() and not self._open():
            return
        seen = 0

        def watch(event: Event) -> None:
            nonlocal seen
            seen += event.type == moment
            if event.type == moment and seen == nth:
                raise KeyboardInterrupt

        agent = Agent(
            workspace_root=self.place,
            backend=ScriptedBackend(SCRIPT),
            session_settings={"safety": {"mode": "ask"}},
            approval_provider=Passing(answers),
            inbox=self.inbox,
            event_hooks=[watch],
        )
        agent.register_tool(self.tool)
        try:
            agent.run("Go.", run_id=RUN)
            self.all_heard = self._open()
        except KeyboardInterrupt:
            self.all_heard = False

    def _open(self) -> bool:
        return hasattr(self, "paths") and read_view(self.paths, log_ports()).state.open

    def _asked(self) -> PendingApproval | None:
        if not hasattr(self, "paths"):
            return None
        return next(iter(read_view(self.paths, log_ports()).pending.approvals.open.values()), None)

    def _send(self, request: PendingApproval, change: Mapping[str, Any]) -> None:
        body = {"run_id": RUN, "approval_id": request.approval_id, "approval_key": request.approval_key}
        self._put({**body, **change})

    def _put(self, body: dict[str, Any]) -> None:
        self.inbox.send(RUN, "approve", body)
        self.sent.append(body)
        self.all_heard = False


@pytest.fixture(autouse=True)
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


TestApprovals = ApprovalsMachine.TestCase
TestApprovals.settings = settings(
    max_examples=examples(12),
    stateful_step_count=14,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
