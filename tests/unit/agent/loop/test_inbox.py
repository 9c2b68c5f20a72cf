"""What people say to a run while it works: taken in at the next turn, once, in order, and never inside a call."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import Agent
from skills_runtime.agent.options import RunRequest
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.engine import RunControl
from skills_runtime.errors import LogEnded, NotFound, ValidationFailed
from skills_runtime.llm import FakeChatCall, ScriptedBackend
from skills_runtime.ports import Backend, ChatRequest, ChatStreamEvent, Inbox, Question, ToolContext, ToolResult
from skills_runtime.runs import RunPaths, runs_root
from skills_runtime.testing import FakeModel, says
from skills_runtime.testing.inbox import InMemoryInbox
from tests.support.agents import Doing, Flaky, Streaming, calls, payloads_of, succeed
from tests.support.events import check_request

RUN_ID = "run_1"


@pytest.fixture
def inbox() -> InMemoryInbox:
    return InMemoryInbox()


def steered(directory: Path, backend: Backend, inbox: Inbox, *tools: Doing) -> Agent:
    agent = Agent(
        workspace_root=directory, backend=backend, session_settings={"safety": {"mode": "allow"}}, inbox=inbox
    )
    for tool in tools:
        agent.register_tool(tool)
    return agent


def desk_of(directory: Path, inbox: Inbox) -> tuple[RunControl, RunPaths]:
    return RunControl(inbox, log_ports()), RunPaths(runs_root(directory) / RUN_ID)


def said_in(request: ChatRequest) -> list[str]:
    """What the user said, as the model was told."""
    check_request(request)
    return [message["content"] for message in request.messages if message["role"] == "user"]


def sending(inbox: Inbox, *texts: str) -> Doing:
    """A tool during which people say things."""

    async def work(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        for text in texts:
            inbox.send(RUN_ID, "steer", {"text": text})
        return ToolResult(ok=True)

    return Doing(work, name="talk")


def test_messages_are_taken_in_at_the_next_turn_in_their_order(tmp_path: Path, inbox: InMemoryInbox) -> None:
    watched = FakeModel([calls(("talk", {}), ("do", {}), ("do", {})), says("done")])
    agent = steered(tmp_path, watched, inbox, sending(inbox, "one", "two 你好", "three"), Doing(succeed))
    result = agent.run("Go.", run_id=RUN_ID)
    assert [said_in(request) for request in watched.requests] == [["Go."], ["Go.", "one", "two 你好", "three"]]
    assert [message["role"] for message in watched.requests[1].messages][-6:] == ["tool"] * 3 + ["user"] * 3
    assert [payload.position for payload in payloads_of(result.wal_locator, "inbox_received")] == [1, 2, 3]
    assert inbox.unacknowledged_count(RUN_ID) == 0


def test_a_message_sent_while_the_model_gives_its_last_answer_is_received(tmp_path: Path, inbox: InMemoryInbox) -> None:
    requests: list[ChatRequest] = []

    async def answer(request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        requests.append(request)
        if not request.answered:
            inbox.send(RUN_ID, "steer", {"text": "wait"})
        for event in says(f"answer {request.answered}").events:
            yield event

    result = steered(tmp_path, Streaming(answer), inbox).run("Go.", run_id=RUN_ID)
    assert [said_in(request) for request in requests] == [["Go."], ["Go.", "wait"]]
    assert result.final_output == "answer 1"


def test_a_message_sent_before_the_run_began_is_received_first(tmp_path: Path, inbox: InMemoryInbox) -> None:
    watched = FakeModel([says("done")])
    agent = steered(tmp_path, watched, inbox)
    agent.create(RunRequest(prompt="Go.", run_id=RUN_ID)).close()
    desk, paths = desk_of(tmp_path, inbox)
    desk.send(paths, "hurry")
    agent.run("", run_id=RUN_ID)
    assert said_in(watched.requests[0]) == ["Go.", "hurry"]


def test_a_message_sent_twice_with_one_key_is_one_message(tmp_path: Path, inbox: InMemoryInbox) -> None:
    watched = FakeModel([says("done")])
    agent = steered(tmp_path, watched, inbox)
    agent.create(RunRequest(prompt="Go.", run_id=RUN_ID)).close()
    desk, paths = desk_of(tmp_path, inbox)
    assert desk.send(paths, "hurry", key="k") == desk.send(paths, "hurry", key="k")
    agent.run("", run_id=RUN_ID)
    assert said_in(watched.requests[0]) == ["Go.", "hurry"]


@pytest.mark.parametrize("operation", ["pending", "acknowledge"])
def test_an_inbox_that_is_busy_does_not_hurt_the_run_and_nothing_is_taken_twice(
    tmp_path: Path, inbox: InMemoryInbox, operation: str
) -> None:
    watched = FakeModel([calls(("do", {})), calls(("do", {})), calls(("do", {})), says("done")])
    flaky = Flaky(inbox, **{operation: 2})
    inbox.send(RUN_ID, "steer", {"text": "one"})
    inbox.send(RUN_ID, "steer", {"text": "two"})
    result = steered(tmp_path, watched, flaky, Doing(succeed)).run("Go.", run_id=RUN_ID)
    assert result.status == "completed"
    assert said_in(watched.requests[-1]) == ["Go.", "one", "two"]
    assert [payload.position for payload in payloads_of(result.wal_locator, "inbox_received")] == [1, 2]
    assert inbox.unacknowledged_count(RUN_ID) == 0


def test_an_inbox_that_never_answers_does_not_hurt_the_run(tmp_path: Path, inbox: InMemoryInbox) -> None:
    inbox.send(RUN_ID, "steer", {"text": "one"})
    flaky = Flaky(inbox, pending=10_000)
    assert steered(tmp_path, FakeModel([says("done")]), flaky).run("Go.", run_id=RUN_ID).status == "completed"
    assert inbox.unacknowledged_count(RUN_ID) == 1, "it stays where it is"


def test_a_message_recorded_by_a_process_that_died_is_acknowledged_by_the_next(
    tmp_path: Path, inbox: InMemoryInbox
) -> None:
    class Dying(Flaky):
        def acknowledge(self, message_id: str, *, event_seq: int) -> None:
            raise SystemExit("the process dies")

    inbox.send(RUN_ID, "steer", {"text": "hurry"})
    watched = FakeModel([says("done")])
    with pytest.raises(SystemExit):
        steered(tmp_path, watched, Dying(inbox)).run("Go.", run_id=RUN_ID)
    assert inbox.unacknowledged_count(RUN_ID) == 1
    result = steered(tmp_path, watched, inbox).run("", run_id=RUN_ID)
    assert said_in(watched.requests[-1]) == ["Go.", "hurry"]
    assert len(payloads_of(result.wal_locator, "inbox_received")) == 1
    assert inbox.unacknowledged_count(RUN_ID) == 0


ASKING: list[FakeChatCall] = [calls(("ask_human", {"question": "Which?"}), ("do", {})), says("done")]


def test_a_run_that_asks_parks_and_continues_with_the_answer(tmp_path: Path, inbox: InMemoryInbox) -> None:
    tool, watched = Doing(succeed), FakeModel(ASKING)
    parked = steered(tmp_path, watched, inbox, tool).run("Go.", run_id=RUN_ID)
    assert (parked.status, parked.error_kind, tool.times) == ("waiting_human", "human_required", 0)
    desk, paths = desk_of(tmp_path, inbox)
    desk.answer(paths, "blue")
    desk.send(paths, "and hurry")
    result = steered(tmp_path, watched, inbox, tool).run("", run_id=RUN_ID)
    assert (result.status, tool.times) == ("completed", 1)
    assert said_in(watched.requests[-1]) == ["Go.", "and hurry"]
    assert '"stdout":"blue"' in watched.requests[-1].messages[-3]["content"]


def test_an_unanswered_run_parks_again_without_asking_twice(tmp_path: Path, inbox: InMemoryInbox) -> None:
    for _ in range(3):
        parked = steered(tmp_path, FakeModel(ASKING), inbox, Doing(succeed)).run("Go.", run_id=RUN_ID)
        assert parked.status == "waiting_human"
        assert len(payloads_of(parked.wal_locator, "human_request")) == 1


SEVERAL: dict[str, Any] = {
    "questions": [
        {"id": "colour", "header": "Colour", "question": "Which colour?", "options": []},
        {"id": "size", "header": "Size", "question": "Which size?", "options": []},
    ]
}


def test_several_questions_are_answered_each_by_its_id(tmp_path: Path, inbox: InMemoryInbox) -> None:
    watched = FakeModel([calls(("request_user_input", SEVERAL)), says("done")])
    agent = steered(tmp_path, watched, inbox)
    assert agent.run("Go.", run_id=RUN_ID).status == "waiting_human"
    desk, paths = desk_of(tmp_path, inbox)
    with pytest.raises(ValidationFailed):
        desk.answer(paths, {"colour": "blue"})
    desk.answer(paths, {"colour": "blue", "size": "small"})
    assert agent.run("", run_id=RUN_ID).status == "completed"
    result = watched.requests[-1].messages[-1]["content"]
    assert "blue" in result
    assert "small" in result


def test_two_questions_of_one_answer_are_distinguished_by_their_calls(tmp_path: Path, inbox: InMemoryInbox) -> None:
    questions = [("ask_human", {"question": "One?"}), ("ask_human", {"question": "Two?"})]
    watched = FakeModel([calls(*questions, ids=["a", "b"]), says("done")])
    agent = steered(tmp_path, watched, inbox)
    agent.run("Go.", run_id=RUN_ID)
    desk, paths = desk_of(tmp_path, inbox)
    with pytest.raises(ValidationFailed, match="several"):
        desk.answer(paths, "yes")
    with pytest.raises(NotFound):
        desk.answer(paths, "yes", call_id="c")
    desk.answer(paths, "second", call_id="b")
    desk.answer(paths, "first", call_id="a")
    assert agent.run("", run_id=RUN_ID).status == "completed"
    results = {
        message["tool_call_id"]: message["content"]
        for message in watched.requests[-1].messages
        if message["role"] == "tool"
    }
    assert '"first"' in results["a"]
    assert '"second"' in results["b"]


def test_a_run_that_has_ended_takes_no_messages(tmp_path: Path, inbox: InMemoryInbox) -> None:
    steered(tmp_path, ScriptedBackend([says("done")]), inbox).run("Go.", run_id=RUN_ID)
    desk, paths = desk_of(tmp_path, inbox)
    for say in (lambda: desk.send(paths, "x"), lambda: desk.answer(paths, "x"), lambda: desk.cancel(paths)):
        with pytest.raises(LogEnded):
            say()


def test_a_parked_run_is_cancelled_at_once(tmp_path: Path, inbox: InMemoryInbox) -> None:
    steered(tmp_path, FakeModel(ASKING), inbox, Doing(succeed)).run("Go.", run_id=RUN_ID)
    desk, paths = desk_of(tmp_path, inbox)
    assert desk.cancel(paths, "no longer wanted") is None
    (cancelled,) = payloads_of(str(paths.events), "run_cancelled")
    assert cancelled.message == "no longer wanted"
    with pytest.raises(LogEnded):
        steered(tmp_path, FakeModel(ASKING), inbox).run("", run_id=RUN_ID)


async def test_a_run_that_is_worked_on_is_cancelled_by_a_message_at_its_next_turn(
    tmp_path: Path, inbox: InMemoryInbox
) -> None:
    desk, paths = desk_of(tmp_path, inbox)

    async def work(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        await asyncio.to_thread(desk.cancel, paths)
        return ToolResult(ok=True)

    tool = Doing(work)
    agent = steered(tmp_path, FakeModel([calls(("do", {}), ("do", {})), says("x")]), inbox, tool)
    result = await agent.run_async("Go.", run_id=RUN_ID)
    assert (result.status, tool.times) == ("cancelled", 1)
    assert inbox.unacknowledged_count(RUN_ID) == 0


async def test_a_run_waiting_for_an_answer_is_cancelled_by_a_message(tmp_path: Path, inbox: InMemoryInbox) -> None:
    class Thinking:
        """A person who does not get round to answering."""

        async def ask(self, question: Question, *, call_id: str, timeout_ms: int | None = None) -> str:
            inbox.send(RUN_ID, "cancel", {})
            await asyncio.Event().wait()
            raise AssertionError

    watched = FakeModel(ASKING)
    agent = Agent(
        workspace_root=tmp_path,
        backend=watched,
        session_settings={"safety": {"mode": "allow"}},
        inbox=inbox,
        human_io=Thinking(),
    )
    agent.register_tool(Doing(succeed))
    result = await asyncio.wait_for(agent.run_async("Go.", run_id=RUN_ID), 10)
    assert result.status == "cancelled"
