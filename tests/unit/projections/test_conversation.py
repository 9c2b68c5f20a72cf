"""The conversation: complete answers only, and an order every provider accepts."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.agent.loop.model_call import Prompt
from skills_runtime.events import Payload
from skills_runtime.events.payloads import (
    ContextCompacted,
    LlmRequestStarted,
    LlmResponseDelta,
    LlmResponseFinished,
    RunStarted,
    ToolCallFinished,
    ToolCallRequested,
    ToolCallStarted,
)
from skills_runtime.projections import Conversation, fold
from tests.support.events import numbered, order_problem

STARTED = RunStarted(task="do it")
REQUEST_STARTED = LlmRequestStarted(model="m")
ANSWERED = LlmResponseFinished(finish_reason="stop")


def _says(text: str) -> LlmResponseDelta:
    return LlmResponseDelta(delta_type="text", text=text)


def _calls(call_id: str) -> ToolCallRequested:
    return ToolCallRequested(call_id=call_id, tool="t", name="t", arguments={"n": 1})


def _settles(call_id: str) -> ToolCallFinished:
    return ToolCallFinished(call_id=call_id, tool="t", result={"ok": True})


def _conversation(*payloads: Payload) -> Conversation:
    return fold(numbered(payloads), Conversation())


def _messages(conversation: Conversation) -> list[dict[str, Any]]:
    return Prompt("system", lambda digest: b"{}").messages(conversation)


def test_an_answer_counts_only_when_it_is_finished() -> None:
    half = _conversation(STARTED, REQUEST_STARTED, _says("half"), _calls("a"))
    assert [message.role for message in half.messages] == ["user"]
    assert not half.open_calls


def test_a_half_answer_is_forgotten_when_the_model_is_asked_again() -> None:
    again = _conversation(
        STARTED, REQUEST_STARTED, _says("half"), _calls("a"), REQUEST_STARTED, _says("whole"), ANSWERED
    )
    assert again.last_text == "whole"
    assert not again.open_calls


def test_the_task_appears_once_however_often_the_run_was_resumed() -> None:
    assert [message.role for message in _conversation(STARTED, STARTED, STARTED).messages] == ["user"]


def test_a_call_is_open_until_it_is_settled() -> None:
    asked = (STARTED, REQUEST_STARTED, _says("so"), _calls("a"), _calls("b"), ANSWERED)
    assert list(_conversation(*asked).open_calls) == ["a", "b"]
    conversation = _conversation(*asked, ToolCallStarted(call_id="a", tool="t", effect="read"))
    assert (conversation.open_calls["a"].phase, conversation.open_calls["a"].effect) == ("started", "read")
    assert list(_conversation(*asked, _settles("a")).open_calls) == ["b"]


def test_a_call_settled_twice_is_answered_once() -> None:
    settled = _conversation(STARTED, REQUEST_STARTED, _calls("a"), ANSWERED, _settles("a"), _settles("a"))
    assert not order_problem(_messages(settled))


def test_an_unrequested_result_is_not_a_message() -> None:
    assert len(_conversation(STARTED, _settles("ghost")).messages) == 1


def test_text_beside_calls_is_kept() -> None:
    message = _messages(
        _conversation(STARTED, REQUEST_STARTED, _says("I will "), _says("look."), _calls("a"), ANSWERED)
    )[-1]
    assert message["content"] == "I will look."
    assert message["tool_calls"][0]["function"] == {"name": "t", "arguments": '{"n":1}'}


def test_the_request_only_grows_at_its_end() -> None:
    steps = [STARTED, REQUEST_STARTED, _calls("a"), ANSWERED, _settles("a"), REQUEST_STARTED, _says("done"), ANSWERED]
    requests = [_messages(_conversation(*steps[:end])) for end in range(1, len(steps) + 1)]
    for before, after in itertools.pairwise(requests):
        assert after[: len(before)] == before


TURNS = st.lists(st.integers(min_value=0, max_value=3), min_size=1, max_size=5)


def _history(turns: list[int]) -> list[Payload]:
    events: list[Payload] = [STARTED]
    for turn, calls in enumerate(turns):
        ids = [f"call_{turn}_{number}" for number in range(calls)]
        events += [REQUEST_STARTED, _says("text"), *map(_calls, ids), ANSWERED, *map(_settles, ids)]
    return events


@given(turns=TURNS, kept=st.integers(min_value=0, max_value=4), place=st.data())
def test_compaction_never_parts_a_call_from_its_result(turns: list[int], kept: int, place: st.DataObject) -> None:
    history = _history(turns)
    after = place.draw(st.integers(min_value=1, max_value=len(history)))
    compacted = ContextCompacted(summary="before", kept_messages=kept)
    conversation = _conversation(*history[:after], compacted, *history[after:])
    assert not order_problem(_messages(conversation))


@pytest.mark.parametrize("kept", [0, 1, 5])
def test_the_task_survives_compaction(kept: int) -> None:
    compacted = _conversation(*_history([1, 1]), ContextCompacted(summary="before", kept_messages=kept))
    task, summary = compacted.messages[:2]
    assert (task.role, task.text, summary.role) == ("user", "do it", "user")
    assert summary.text.endswith("before")
