"""How the stream of an answer becomes events."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.errors import ModelError
from skills_runtime.events import Payload
from skills_runtime.events.payloads import LlmResponseDelta, LlmRetryScheduled, LlmUsage
from skills_runtime.llm import Answer, EventRecorder, Price
from skills_runtime.ports import ChatStreamEvent, ToolCall, ToolCallDelta
from skills_runtime.testing import FrozenClock

END = ChatStreamEvent(type="completed", finish_reason="stop")


class Desk:
    """A transcriber, its clock, and what it recorded."""

    def __init__(self, **more: Any) -> None:
        self.clock = FrozenClock()
        self.recorded: list[Payload] = []
        self.transcriber = EventRecorder(self.recorded.append, model="m", clock=self.clock, **more)

    def take(self, *events: ChatStreamEvent) -> "Desk":
        for event in events:
            self.transcriber.add(event)
        return self

    def finish(self) -> Answer:
        return self.transcriber.finish()

    @property
    def deltas(self) -> list[tuple[str, str]]:
        return [
            (payload.delta_type, payload.text) for payload in self.recorded if isinstance(payload, LlmResponseDelta)
        ]

    @property
    def progress(self) -> list[list[tuple[str, int]]]:
        return [
            [(call["call_id"], call["arguments_chars"]) for call in payload.tool_calls]
            for payload in self.recorded
            if isinstance(payload, LlmResponseDelta) and payload.delta_type == "tool_calls"
        ]


def _text(*pieces: str) -> list[ChatStreamEvent]:
    return [ChatStreamEvent(type="text_delta", text=piece) for piece in pieces]


def _reasoning(*pieces: str) -> list[ChatStreamEvent]:
    return [ChatStreamEvent(type="reasoning_delta", text=piece) for piece in pieces]


def _piece(index: int, arguments: str = "", **more: str) -> ChatStreamEvent:
    delta = ToolCallDelta(index=index, arguments=arguments, **more)
    return ChatStreamEvent(type="tool_call_delta", call_delta=delta)


def _calls(*ids: str, arguments: str = "{}") -> ChatStreamEvent:
    batch = [ToolCall(id=one, name="t", arguments=arguments) for one in ids]
    return ChatStreamEvent(type="tool_calls", tool_calls=batch)


def _error(events: Sequence[ChatStreamEvent]) -> ModelError:
    with pytest.raises(ModelError) as caught:
        Desk().take(*events).finish()
    return caught.value


def test_pieces_that_come_together_are_one_event() -> None:
    desk = Desk().take(*_text("Hel", "lo"), END)
    assert desk.finish() == Answer(calls=[], finish_reason="stop", text_chars=5)
    assert desk.deltas == [("text", "Hello")]


def test_a_piece_that_comes_late_is_recorded_at_once() -> None:
    desk = Desk().take(*_text("Hel"))
    desk.clock.advance(0.05)
    desk.take(*_text("lo"))
    assert desk.deltas == [("text", "Hello")]


def test_a_piece_that_follows_soon_waits_for_the_next() -> None:
    desk = Desk()
    desk.clock.advance(1)
    desk.take(*_text("one"))
    desk.clock.advance(0.04)
    assert desk.take(*_text("two")).deltas == [("text", "one")]
    desk.clock.advance(0.01)
    assert desk.take(*_text("three")).deltas == [("text", "one"), ("text", "twothree")]


def test_text_is_not_held_back_beyond_4_kib() -> None:
    desk = Desk().take(*_text("x" * 4095))
    assert desk.deltas == []
    desk.take(*_text("x"))
    assert desk.deltas == [("text", "x" * 4096)]


def test_the_first_piece_is_not_held_back_when_the_model_took_its_time() -> None:
    desk = Desk()
    desk.clock.advance(1)
    assert desk.take(*_reasoning("hm")).deltas == [("reasoning", "hm")]


def test_reasoning_and_text_stay_apart_and_in_order() -> None:
    desk = Desk().take(*_reasoning("h", "m"), *_text("so"), *_reasoning("or"), *_text(" be it"), END)
    assert desk.finish().text_chars == 8
    assert desk.deltas == [("reasoning", "hm"), ("text", "so"), ("reasoning", "or"), ("text", " be it")]


def test_a_call_is_followed_by_how_far_it_is_and_never_by_what_it_says() -> None:
    desk = Desk().take(_piece(0, '{"se', id="a", name="t"), _piece(1, "{", id="b", name="u"))
    desk.clock.advance(0.05)
    desk.take(_piece(0, 'cret":1}'))
    desk.take(_piece(1, "}"), _calls("a", "b"), END).finish()
    assert desk.progress == [[("a", 12), ("b", 1)], [("b", 2)]]
    assert "cret" not in repr(desk.recorded)
    (first, *_) = [payload for payload in desk.recorded if isinstance(payload, LlmResponseDelta)]
    assert first.tool_calls[0] == {"call_id": "a", "tool": "t", "name": "t", "arguments_chars": 12}


def test_text_before_calls_is_recorded_before_them() -> None:
    desk = Desk().take(*_text("so:"), _piece(0, "{}", id="a", name="t"), _calls("a"), END)
    desk.finish()
    assert [kind for kind, _ in desk.deltas] == ["text", "tool_calls"]


def test_a_long_argument_is_reported_every_4_kib() -> None:
    desk = Desk().take(*[_piece(0, "x" * 1024, id="a") for _ in range(8)])
    assert desk.progress == [[("a", 4096)], [("a", 8192)]]


def test_a_call_without_an_id_has_one_while_it_is_written() -> None:
    desk = Desk().take(_piece(1, "{}"), END)
    desk.transcriber.flush()
    assert desk.progress == [[("call_2", 2)]]


def test_half_a_character_waits_for_its_other_half() -> None:
    desk = Desk().take(*_text("a\ud83c"))
    desk.clock.advance(0.05)
    desk.take(*_text("\udf89b"))
    assert desk.deltas == [("text", "a🎉b")]


def test_half_a_character_waits_across_other_deltas() -> None:
    desk = Desk().take(*_text("\ud83c"), *_reasoning("hm"), *_text("\udf89"), END)
    assert desk.finish().text_chars == 1
    assert desk.deltas == [("reasoning", "hm"), ("text", "🎉")]


def test_half_a_character_at_the_end_is_replaced() -> None:
    desk = Desk().take(*_text("a\ud83c"), END)
    assert desk.finish().text_chars == 2
    assert desk.deltas == [("text", "a\ufffd")]


@given(st.lists(st.text(st.characters(), min_size=1), min_size=1), st.sampled_from([0.0, 0.05]))
def test_nothing_of_the_text_is_lost(pieces: list[str], pause: float) -> None:
    desk = Desk()
    for piece in _text(*pieces):
        desk.take(piece).clock.advance(pause)
    chars = desk.take(END).finish().text_chars
    recorded = "".join(text for _, text in desk.deltas)
    assert recorded == "".join(pieces).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert chars == len(recorded)


def test_calls_come_back_with_ids_of_their_own() -> None:
    answer = Desk().take(_calls("a", "a", "", "a_2"), END).finish()
    assert [call.id for call in answer.calls] == ["a", "a_2", "call_3", "a_2_4"]


def test_no_call_takes_the_id_of_an_earlier_one() -> None:
    answer = Desk(used_ids={"a", "call_2"}).take(_calls("a", ""), END).finish()
    assert [call.id for call in answer.calls] == ["a_1", "call_2_2"]


def test_calls_come_back_as_text_that_can_be_written() -> None:
    broken = ToolCall(id="\ud83c", name="\ud83c", arguments='"\ud83c"')
    (call,) = Desk().take(ChatStreamEvent(type="tool_calls", tool_calls=[broken]), END).finish().calls
    assert (call.id, call.name, call.arguments) == ("\ufffd", "\ufffd", '"\ufffd"')


def test_a_wait_is_recorded() -> None:
    retry: dict[str, Any] = {
        "error_kind": "server_error",
        "attempt": 1,
        "max_retries": 3,
        "delay_ms": 500,
        "message": "no",
    }
    desk = Desk().take(ChatStreamEvent(type="retry_scheduled", retry=retry))
    assert desk.recorded == [LlmRetryScheduled(**retry)]


def test_usage_is_recorded_with_its_cost() -> None:
    usage = {"input_tokens": 1000, "output_tokens": 100, "cached_tokens": 500, "reasoning_tokens": 60}
    end = ChatStreamEvent(type="completed", finish_reason="stop", usage=usage, provider="p", request_id="r")
    desk = Desk(price=Price(input=2, cached_input=1, output=10)).take(*_text("x"), end)
    desk.finish()
    assert desk.recorded[-1] == LlmUsage(
        model="m",
        input_tokens=1000,
        output_tokens=100,
        total_tokens=1100,
        cached_tokens=500,
        reasoning_tokens=60,
        cost_usd=0.0025,
        provider="p",
        request_id="r",
    )


def test_without_a_price_there_is_no_cost() -> None:
    end = ChatStreamEvent(type="completed", finish_reason="stop", usage={"input_tokens": 1})
    desk = Desk().take(*_text("x"), end)
    desk.finish()
    assert [payload.cost_usd for payload in desk.recorded if isinstance(payload, LlmUsage)] == [None]


def test_without_usage_nothing_is_made_up() -> None:
    desk = Desk(price=Price(input=2, output=10)).take(*_text("x"), END)
    desk.finish()
    assert not [payload for payload in desk.recorded if isinstance(payload, LlmUsage)]


def test_an_answer_without_its_end_is_an_error_and_its_text_is_kept() -> None:
    desk = Desk().take(*_text("Hal"))
    with pytest.raises(ModelError, match="broke off") as caught:
        desk.finish()
    assert caught.value.retryable
    assert desk.deltas == [("text", "Hal")]


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        ("length", "cut off at its length"),
        ("MAX_TOKENS", "cut off at its length"),
        ("model_context_window_exceeded", "cut off at its length"),
        ("content_filter", "withheld"),
        ("sensitive", "withheld"),
    ],
)
def test_an_answer_that_was_cut_or_withheld_is_an_error_but_was_paid_for(reason: str, message: str) -> None:
    desk = Desk().take(*_text("x"), ChatStreamEvent(type="completed", finish_reason=reason, usage={"input_tokens": 1}))
    with pytest.raises(ModelError, match=message):
        desk.finish()
    assert isinstance(desk.recorded[-1], LlmUsage)


@pytest.mark.parametrize("said", [[], _text(""), _reasoning("hm"), [ChatStreamEvent(type="tool_calls", tool_calls=[])]])
def test_an_empty_answer_is_an_error(said: list[ChatStreamEvent]) -> None:
    error = _error([*said, END])
    assert (error.message, error.retryable) == ("the model's answer is empty", True)


@pytest.mark.parametrize("reason", ["tool_calls", "function_call"])
def test_an_answer_that_ends_in_calls_and_has_none_is_no_answer(reason: str) -> None:
    error = _error([*_text("I will look."), ChatStreamEvent(type="completed", finish_reason=reason)])
    assert (error.message, error.retryable) == ("the model announced tool calls but sent none", True)


@pytest.mark.parametrize("reason", ["stop", "eos", "end_turn", "COMPLETE"])
def test_other_ends_are_ends_of_answers(reason: str) -> None:
    end = ChatStreamEvent(type="completed", finish_reason=reason)
    assert Desk().take(*_text("Hello"), end).finish().finish_reason == reason


def test_calls_without_text_are_an_answer() -> None:
    answer = Desk().take(_calls("a"), ChatStreamEvent(type="completed")).finish()
    assert (answer.finish_reason, answer.text_chars, len(answer.calls)) == ("stop", 0, 1)


def test_an_unknown_piece_is_passed_over() -> None:
    desk = Desk().take(ChatStreamEvent(type="citations", text="x"), *_text("y"), END)
    desk.finish()
    assert desk.deltas == [("text", "y")]
