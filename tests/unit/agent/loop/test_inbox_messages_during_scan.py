"""What people say while a run that has its answer lists what it leaves: the run hears it before it ends."""

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from skills_runtime.agent.loop.control import Control
from skills_runtime.agent.options import RunRequest
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.engine.replay import replay
from skills_runtime.ports import ChatRequest, ChatStreamEvent, InboxKind, InboxMessage
from skills_runtime.runs import RunPaths, verify_run
from skills_runtime.testing import FakeModel, says
from skills_runtime.testing.inbox import InMemoryInbox
from tests.support.agents import Flaky, Streaming, agent_in, calls, events_of, payloads_of
from tests.support.events import check_request

RUN_ID = "run_1"
Said = tuple[InboxKind, dict[str, Any]]


class Late(Flaky):
    """An inbox that gets messages right after it was looked into."""

    def __init__(self, messages: Mapping[int, Said], **failing: int) -> None:
        self.kept = InMemoryInbox()
        super().__init__(self.kept, **failing)
        self._said = messages
        self._looks = 0

    def pending(self, run_id: str) -> Sequence[InboxMessage]:
        """What was there, before the next message comes."""
        messages = list(super().pending(run_id))
        self._looks += 1
        if self._looks in self._said:
            kind, body = self._said[self._looks]
            self.kept.send(run_id, kind, body)
        return messages


LAST_TURN = 2
"""The look of a run whose model answers at once after which it only ends: one before the answer, one behind it."""
SHORTER: Said = ("steer", {"text": "shorter please"})


def _user_texts(watched: FakeModel) -> list[list[str]]:
    for request in watched.requests:
        check_request(request)
    return [
        [message["content"] for message in request.messages if message["role"] == "user"]
        for request in watched.requests
    ]


async def test_a_message_sent_while_a_run_completes_continues_it(tmp_path: Path) -> None:
    inbox, watched = Late({LAST_TURN: SHORTER}), FakeModel([says("a long draft"), says("short")])
    agent = agent_in(tmp_path, watched, inbox=inbox)
    result = await agent.run_async("Go.", run_id=RUN_ID)
    assert (result.status, result.final_output) == ("completed", "short")
    assert _user_texts(watched) == [["Go."], ["Go.", "shorter please"]]
    root = RunPaths(Path(result.wal_locator).parent).root
    assert list(inbox.kept.pending(RUN_ID)) == []
    assert [event.type for event in events_of(result.wal_locator)].count("artifact_manifest_written") == 1
    assert verify_run(root, log_ports().keys).findings == []
    assert await replay(root, agent.resolved) is None


async def test_a_run_that_continues_has_no_more_time_than_it_had(tmp_path: Path) -> None:
    inbox, control, ends = Late({LAST_TURN: SHORTER}), Control(), list[float | None]()

    async def answer(request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        ends.append(control.time.when() if control.time is not None else None)
        for event in says("done").events:
            yield event

    agent = agent_in(tmp_path, Streaming(answer), settings={"run": {"max_wall_time_sec": 3600}}, inbox=inbox)
    await agent.execute(agent.create(RunRequest(prompt="Go.", run_id=RUN_ID)), control=control)
    assert len(ends) == 2
    assert ends[0] is not None
    assert ends[0] == ends[1]


async def test_every_message_sent_while_a_run_completes_is_received(tmp_path: Path) -> None:
    outcome: dict[int, Said] = {2: ("steer", {"text": "one"}), 5: ("steer", {"text": "two"})}
    inbox, watched = Late(outcome), FakeModel([says("1"), says("2"), says("3"), says("4")])
    result = await agent_in(tmp_path, watched, inbox=inbox).run_async("Go.", run_id=RUN_ID)
    assert (result.status, _user_texts(watched)[-1]) == ("completed", ["Go.", "one", "two"])
    assert inbox.kept.unacknowledged_count(RUN_ID) == 0


async def test_a_run_is_cancelled_by_a_message_that_comes_while_it_completes(tmp_path: Path) -> None:
    inbox = Late({LAST_TURN: ("cancel", {"reason": "not needed"})})
    result = await agent_in(tmp_path, [says("done")], inbox=inbox).run_async("Go.", run_id=RUN_ID)
    assert result.status == "cancelled"
    assert [payload.message for payload in payloads_of(result.wal_locator, "run_cancelled")] == ["not needed"]
    assert inbox.kept.unacknowledged_count(RUN_ID) == 0


async def test_a_message_that_asks_for_nothing_does_not_keep_a_run_from_its_end(tmp_path: Path) -> None:
    inbox = Late({LAST_TURN: ("answer", {"call_id": "nobody", "answer": "yes"})})
    watched = FakeModel([says("done")])
    result = await agent_in(tmp_path, watched, inbox=inbox).run_async("Go.", run_id=RUN_ID)
    assert (result.status, result.final_output, len(watched.requests)) == ("completed", "done", 1)
    assert len(payloads_of(result.wal_locator, "inbox_received")) == 1
    assert inbox.kept.unacknowledged_count(RUN_ID) == 0


async def test_a_run_ends_although_its_inbox_never_takes_a_receipt(tmp_path: Path) -> None:
    inbox = Late({1: ("steer", {"text": "one"}), LAST_TURN: ("steer", {"text": "two"})}, acknowledge=10_000)
    watched = FakeModel([says(str(number)) for number in range(4)])
    result = await agent_in(tmp_path, watched, inbox=inbox).run_async("Go.", run_id=RUN_ID)
    assert result.status == "completed"
    assert _user_texts(watched)[-1] == ["Go.", "one", "two"]
    assert [payload.position for payload in payloads_of(result.wal_locator, "inbox_received")] == [1, 2]


async def test_messages_sent_while_a_run_fails_are_recorded(tmp_path: Path) -> None:
    inbox = Late({LAST_TURN + 1: SHORTER})
    model = [calls(("list_dir", {"dir_path": "."}), ("list_dir", {"dir_path": "."}))]
    agent = agent_in(tmp_path, model, settings={"run": {"max_steps": 1}}, inbox=inbox)
    result = await agent.run_async("Go.", run_id=RUN_ID)
    assert (result.status, result.error_kind) == ("failed", "budget_exceeded")
    (received,) = payloads_of(result.wal_locator, "inbox_received")
    assert received.body == {"text": "shorter please"}
    assert events_of(result.wal_locator)[-1].type == "run_failed"
    assert inbox.kept.unacknowledged_count(RUN_ID) == 0
    assert verify_run(Path(result.wal_locator).parent, log_ports().keys).findings == []


async def test_a_missing_deliverable_can_still_be_written_after_the_reminder(tmp_path: Path) -> None:
    write = ("file_write", {"path": "deliverables/report.md", "content": "hello", "create_dirs": True})
    inbox = Late({LAST_TURN: ("steer", {"text": "you forgot the report"})})
    settings = {"deliverables": {"required": [{"path": "report.md"}]}, "sandbox": {"workspace": "isolated"}}
    agent = agent_in(tmp_path, [says("done"), calls(write), says("now done")], settings=settings, inbox=inbox)
    result = await agent.run_async("Go.", run_id=RUN_ID)
    assert (result.status, result.final_output) == ("completed", "now done")
