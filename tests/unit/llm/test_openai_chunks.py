"""Chunks as services really send them, put together to an answer."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.errors import ModelError
from skills_runtime.llm.openai import StreamAccumulator, parse_usage
from skills_runtime.ports import ChatStreamEvent, ToolCall
from tests.support.model_server import chunk, end_chunk, text_chunk

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


def _events(*chunks: object, prefix: str = "call") -> list[ChatStreamEvent]:
    answer = StreamAccumulator(prefix=prefix)
    return [*(event for chunk in chunks for event in answer.add(chunk)), *answer.finish()]


def _texts(*deltas: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [(one.type, one.text) for one in _events(*map(chunk, deltas), end_chunk("stop"))[:-1]]


def _piece(**fields: Any) -> dict[str, Any]:
    return chunk({"tool_calls": [fields]})


def _calls(*pieces: dict[str, Any]) -> list[ToolCall]:
    batch = _events(*pieces, end_chunk("tool_calls"))[-2]
    return list(batch.tool_calls or [])


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_is_not_text(field: str) -> None:
    messages = _texts({field: "hm", "content": ""}, {field: "", "content": "Hello"})
    assert messages == [("reasoning_delta", "hm"), ("text_delta", "Hello")]


def test_reasoning_sent_under_both_names_counts_once() -> None:
    assert _texts({"reasoning_content": "hm", "reasoning": "hm"}) == [("reasoning_delta", "hm")]


def test_content_in_blocks_is_text_and_reasoning() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    blocks = [thinking, {"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}, {"type": "image"}, 7]
    assert _texts({"content": blocks}) == [("reasoning_delta", "hm"), ("text_delta", "Hello")]


def test_a_call_is_reported_while_it_is_written() -> None:
    events = _events(
        _piece(index=0, id="a", function={"name": "t", "arguments": '{"x"'}),
        _piece(index=0, function={"arguments": ":1}"}),
        end_chunk("tool_calls"),
    )
    pieces = [event.call_delta for event in events if event.call_delta is not None]
    assert [(piece.index, piece.id, piece.name, piece.arguments) for piece in pieces] == [
        (0, "a", "t", '{"x"'),
        (0, "a", "", ":1}"),
    ]


def test_pieces_of_several_calls_may_come_in_any_order() -> None:
    first, second = _calls(
        _piece(index=0, id="a", function={"name": "one", "arguments": "["}),
        _piece(index=1, id="b", function={"name": "two", "arguments": "{"}),
        _piece(index=0, function={"arguments": "]"}),
        _piece(index=1, function={"arguments": "}"}),
    )
    assert (first.id, first.arguments, second.id, second.arguments) == ("a", "[]", "b", "{}")


def test_calls_that_all_claim_the_first_place_are_distinguished_by_id_and_name() -> None:
    calls = _calls(*(_piece(index=0, id=name, function={"name": name, "arguments": "{}"}) for name in ("a", "b")))
    assert [(call.id, call.name, call.arguments) for call in calls] == [("a", "a", "{}"), ("b", "b", "{}")]


def test_calls_without_index_and_id_are_distinguished_by_their_names() -> None:
    calls = _calls(*(_piece(function={"name": "look", "arguments": {"at": at}}) for at in (1, 2)))
    assert [json.loads(call.arguments) for call in calls] == [{"at": 1}, {"at": 2}]
    assert [call.id for call in calls] == ["call_1", "call_2"]


def test_a_name_or_an_id_repeated_with_every_piece_counts_once() -> None:
    repeated = {"index": 0, "id": "a"}
    (call,) = _calls(
        _piece(**repeated, function={"name": "look", "arguments": "{"}),
        _piece(**repeated, function={"name": "look", "arguments": "}"}),
    )
    assert (call.id, call.name, call.arguments) == ("a", "look", "{}")


def test_a_piece_without_index_and_id_belongs_to_the_call_before() -> None:
    first, second = _calls(
        _piece(id="a", function={"name": "one", "arguments": "{}"}),
        _piece(id="b", function={"name": "two", "arguments": "["}),
        _piece(function={"arguments": "]"}),
    )
    assert (first.arguments, second.arguments) == ("{}", "[]")


def test_an_id_that_arrives_late_is_used() -> None:
    (call,) = _calls(_piece(index=0, function={"name": "t"}), _piece(index=0, id="late", function={}))
    assert call.id == "late"


def test_generated_ids_start_with_the_prefix() -> None:
    events = _events(_piece(index=0, function={"name": "t"}), end_chunk("tool_calls"), prefix="call_7")
    assert [call.id for event in events for call in event.tool_calls or ()] == ["call_7_1"]


@pytest.mark.parametrize("odd", [None, [], "text", 7])
def test_a_chunk_that_is_not_an_object_is_an_error(odd: object) -> None:
    with pytest.raises(ModelError, match="not an object") as caught:
        _events(odd)
    assert caught.value.retryable


def test_an_error_in_the_shape_of_a_chunk_is_an_error() -> None:
    with pytest.raises(ModelError, match="CUDA") as caught:
        _events({"object": "error", "message": "CUDA out of memory", "type": "server_error", "code": None})
    assert caught.value.kind == "server_error"


@pytest.mark.parametrize("chunks", [[text_chunk("Hal")], [chunk({}, finish_reason="")], [chunk(None, choices=[])]])
def test_an_answer_without_its_end_is_an_error(chunks: list[object]) -> None:
    with pytest.raises(ModelError, match="broke off") as caught:
        _events(*chunks)
    assert caught.value.retryable


def test_an_empty_stream_is_an_error_that_may_pass() -> None:
    with pytest.raises(ModelError, match="the model's provider sent an empty stream") as caught:
        _events()
    assert caught.value.retryable


@pytest.mark.parametrize("reason", ["error", "ERROR", "network_error", "insufficient_system_resource", "abort"])
def test_an_end_by_error_is_an_error(reason: str) -> None:
    with pytest.raises(ModelError, match="ended the answer with an error") as caught:
        _events(text_chunk("Hal"), end_chunk(reason))
    assert caught.value.retryable


@pytest.mark.parametrize("where", ["content", "reasoning_content", "refusal", "tool_calls"])
def test_an_answer_that_does_not_end_is_an_error(where: str) -> None:
    piece = "x" * (1 << 20)
    delta = {where: [{"index": 0, "function": {"arguments": piece}}] if where == "tool_calls" else piece}
    with pytest.raises(ModelError, match="is too long") as caught:
        _events(*[chunk(delta)] * 33, end_chunk("stop"))
    assert not caught.value.retryable


def test_a_refusal_is_an_error_that_repeats_it() -> None:
    with pytest.raises(ModelError, match="the model refused: I will not") as caught:
        _events(chunk({"refusal": "I will"}), chunk({"refusal": " not."}), end_chunk("stop"))
    assert (caught.value.kind, caught.value.retryable) == ("llm_error", False)


@pytest.mark.parametrize(
    ("usage", "cached"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 8}}, 8),
        ({"cached_tokens": 8}, 8),
        ({"prompt_cache_hit_tokens": 8, "prompt_cache_miss_tokens": 1}, 8),
        ({"prompt_tokens_details": None}, 0),
        ({"prompt_tokens_details": {"cached_tokens": None}, "cached_tokens": "8"}, 0),
    ],
)
def test_cached_tokens_are_found_where_providers_put_them(usage: dict[str, Any], cached: int) -> None:
    assert parse_usage({"prompt_tokens": 9, **usage})["cached_tokens"] == cached


def test_reasoning_tokens_are_counted() -> None:
    usage = {"completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 7}}
    assert parse_usage(usage) == {
        "input_tokens": 0,
        "output_tokens": 9,
        "total_tokens": 9,
        "cached_tokens": 0,
        "reasoning_tokens": 7,
    }


@pytest.mark.parametrize("count", [-1, 2**64, float("nan"), float("inf"), "12", None, [], 10**400])
def test_impossible_token_counts_are_ignored(count: object) -> None:
    assert parse_usage({"prompt_tokens": count})["input_tokens"] == 0


def test_usage_that_grows_with_every_chunk_counts_once() -> None:
    growing = [chunk({"content": "x"}, usage={"prompt_tokens": 5, "completion_tokens": n}) for n in (1, 2)]
    assert (_events(*growing, end_chunk("stop"))[-1].usage or {})["output_tokens"] == 2


def test_usage_inside_the_choice_is_found() -> None:
    choice = {"index": 0, "delta": {}, "finish_reason": "stop", "usage": {"prompt_tokens": 5}}
    assert (_events(chunk(None, choices=[choice]))[-1].usage or {})["input_tokens"] == 5


@given(
    JSON, st.sampled_from(["choices", "choice", "delta", "content", "tool_calls", "piece", "function", "usage", "id"])
)
def test_nonsense_is_passed_over_or_an_error_of_the_model(odd: object, where: str) -> None:
    piece: dict[str, Any] = {"index": 0, "id": "a", "function": {"name": "t", "arguments": "{}"}}
    delta: dict[str, Any] = {"content": "x", "tool_calls": [piece]}
    whole = chunk(delta, finish_reason="stop", usage={"prompt_tokens": 1})
    holders: dict[str, tuple[Any, Any]] = {
        "choices": (whole, "choices"),
        "choice": (whole["choices"], 0),
        "delta": (whole["choices"][0], "delta"),
        "content": (delta, "content"),
        "tool_calls": (delta, "tool_calls"),
        "piece": (delta["tool_calls"], 0),
        "function": (piece, "function"),
        "usage": (whole, "usage"),
        "id": (whole, "id"),
    }
    holder, name = holders[where]
    holder[name] = odd
    if where in ("choices", "choice"):  # the finish reason is gone with them
        with pytest.raises(ModelError, match="broke off"):
            _events(whole)
    else:
        assert _events(whole)[-1].type == "completed"
