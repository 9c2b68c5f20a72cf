"""Answers that misbehave: what the model calls, how it ends, and what it says beside its answer."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.events.payloads import LlmResponseDelta, LlmUsage, ToolCallFinished, ToolCallRequested
from tests.e2e.misbehaving import Bench
from tests.support.model_server import Answer, calls, chunk, end_chunk, says, text_chunk

DONE = says("Done.")
LOOK = "list_dir"
HERE = {"dir_path": "."}


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(tmp_path, monkeypatch)


def _calls(*pieces: dict[str, Any]) -> Answer:
    """An answer of these calls, each in one piece."""
    return Answer((*(chunk({"tool_calls": [piece]}) for piece in pieces), end_chunk("tool_calls")))


def _call(index: int, call_id: str | None, name: str = LOOK, arguments: str = json.dumps(HERE)) -> dict[str, Any]:
    named = {} if call_id is None else {"id": call_id}
    return {"index": index, **named, "type": "function", "function": {"name": name, "arguments": arguments}}


def _in_pairs(messages: Sequence[dict[str, Any]]) -> list[str]:
    """The ids of all calls of a request, each answered once, in order, right behind its answer, as providers demand."""
    ids: list[str] = []
    for at, message in enumerate(messages):
        wanted = [call["id"] for call in message.get("tool_calls") or ()]
        behind = [one.get("tool_call_id") for one in messages[at + 1 : at + 1 + len(wanted)]]
        assert behind == wanted
        ids += wanted
    assert [one["tool_call_id"] for one in messages if one["role"] == "tool"] == ids
    return ids


@pytest.mark.parametrize("arguments", ['{"dir_path": ', "not json", "[1]", '"."', "{} {}", "\ud83c"])
async def test_arguments_that_are_no_arguments_are_reported_to_the_model(bench: Bench, arguments: str) -> None:
    seen = await bench.run(_calls(_call(0, "a", arguments=arguments)), DONE)
    (requested,), (finished,) = seen.all(ToolCallRequested), seen.all(ToolCallFinished)
    assert (requested.arguments_valid, finished.result["ok"]) == (False, False)
    assert finished.result["error_kind"] == "validation"
    assert seen.answer == "Done."
    assert _in_pairs(seen.requests[1]["messages"]) == ["a"]


async def test_an_unknown_tool_is_reported_to_the_model(bench: Bench) -> None:
    seen = await bench.run(calls(("fly_to_the_moon", {})), DONE)
    (finished,) = seen.all(ToolCallFinished)
    assert (finished.result["ok"], finished.result["error_kind"]) == (False, "not_found")
    assert seen.answer == "Done."


async def test_a_tool_without_a_name_is_reported_to_the_model(bench: Bench) -> None:
    seen = await bench.run(_calls(_call(0, "a", name="")), DONE)
    assert [one.result["ok"] for one in seen.all(ToolCallFinished)] == [False]
    assert seen.answer == "Done."


async def test_calls_that_share_an_id_are_all_made_and_answered(bench: Bench) -> None:
    seen = await bench.run(_calls(*(_call(index, "same") for index in range(3))), DONE)
    ids = _in_pairs(seen.requests[1]["messages"])
    assert len(set(ids)) == 3
    assert [one.call_id for one in seen.all(ToolCallRequested)] == ids
    assert sorted(one.call_id for one in seen.all(ToolCallFinished) if one.result["ok"]) == sorted(ids)
    assert seen.answer == "Done."


async def test_calls_without_ids_get_ids_that_never_repeat(bench: Bench) -> None:
    nameless = _calls(_call(0, None), _call(1, None))
    seen = await bench.run(nameless, nameless, DONE)
    ids = _in_pairs(seen.requests[2]["messages"])
    assert len(set(ids)) == 4
    assert [one.result["ok"] for one in seen.all(ToolCallFinished)] == [True] * 4
    assert seen.answer == "Done."


async def test_an_id_used_again_in_a_later_answer_is_another_call(bench: Bench) -> None:
    again = _calls(_call(0, "same"))
    seen = await bench.run(again, again, DONE)
    assert [one.result["ok"] for one in seen.all(ToolCallFinished)] == [True, True]
    assert len(_in_pairs(seen.requests[2]["messages"])) == 2
    assert seen.answer == "Done."


async def test_ten_calls_at_once_are_all_made_and_answered_in_order(bench: Bench) -> None:
    wanted = [("file_write", {"path": f"{number}.txt", "content": str(number)}) for number in range(10)]
    seen = await bench.run(calls(*wanted), DONE)
    assert [(bench.place / f"{number}.txt").read_text() for number in range(10)] == [str(n) for n in range(10)]
    assert len(set(_in_pairs(seen.requests[1]["messages"]))) == 10
    assert seen.answer == "Done."


async def test_pieces_of_ten_calls_in_any_order_are_ten_calls(bench: Bench) -> None:
    begun = [_call(index, f"id{index}", arguments='{"dir_path"') for index in range(10)]
    rest = [{"index": index, "function": {"arguments": ': "."}'}} for index in reversed(range(10))]
    seen = await bench.run(_calls(*begun, *rest), DONE)
    assert _in_pairs(seen.requests[1]["messages"]) == [f"id{index}" for index in range(10)]
    assert [one.result["ok"] for one in seen.all(ToolCallFinished)] == [True] * 10


@pytest.mark.parametrize(
    "nothing",
    [
        Answer((end_chunk("stop"),)),
        Answer((text_chunk(""), end_chunk("stop"))),
        Answer((chunk({"reasoning_content": "hm"}), end_chunk("stop"))),
        Answer((end_chunk("tool_calls"),)),
    ],
)
async def test_nothing_is_not_an_answer(bench: Bench, nothing: Answer) -> None:
    seen = await bench.run(nothing)
    assert (seen.failure.error_kind, seen.failure.retryable) == ("llm_error", True)
    assert seen.failure.message == "the model's answer is empty"


@pytest.mark.parametrize(
    ("ending", "message"),
    [
        ("length", "cut off at its length limit"),
        ("content_filter", "withheld"),
        ("error", "ended the answer with an error"),
    ],
)
async def test_an_end_that_is_no_end_is_no_success(bench: Bench, ending: str, message: str) -> None:
    seen = await bench.run(Answer((text_chunk("Hal"), end_chunk(ending))), DONE)
    assert seen.failure.error_kind == "llm_error"
    assert message in seen.failure.message


async def test_a_refusal_is_no_success(bench: Bench) -> None:
    seen = await bench.run(Answer((chunk({"refusal": "I can't help."}), end_chunk("stop"))), DONE)
    assert (seen.failure.error_kind, seen.failure.message) == ("llm_error", "the model refused: I can't help.")


async def test_reasoning_is_in_the_log_and_not_in_the_answer(bench: Bench) -> None:
    seen = await bench.run(Answer((chunk({"reasoning_content": "hm"}), text_chunk("Hello"), end_chunk("stop"))))
    assert [(one.delta_type, one.text) for one in seen.all(LlmResponseDelta)] == [
        ("reasoning", "hm"),
        ("text", "Hello"),
    ]
    assert seen.answer == "Hello"


async def test_a_call_is_reported_while_it_is_written_without_what_it_says(bench: Bench) -> None:
    seen = await bench.run(calls(("file_write", {"path": "a.txt", "content": "whispered"})), DONE)
    told = [one for one in seen.all(LlmResponseDelta) if one.delta_type == "tool_calls"]
    assert told[-1].tool_calls[0]["tool"] == "file_write"
    assert told[-1].tool_calls[0]["arguments_chars"] == len('{"path": "a.txt", "content": "whispered"}')
    assert "whispered" not in repr(told)


async def test_all_kinds_of_tokens_are_counted(bench: Bench) -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 80},
        "completion_tokens_details": {"reasoning_tokens": 15},
    }
    seen = await bench.run(Answer((text_chunk("Hi"), end_chunk("stop"), chunk(None, choices=[], usage=usage))))
    (used,) = seen.all(LlmUsage)
    assert (used.input_tokens, used.output_tokens, used.cached_tokens, used.reasoning_tokens) == (100, 20, 80, 15)


@pytest.mark.parametrize("usage", [{"prompt_tokens": -5, "completion_tokens": 2**70}, {"prompt_tokens": "many"}, []])
async def test_usage_that_cannot_be_does_not_break_the_run(bench: Bench, usage: Any) -> None:
    seen = await bench.run(Answer((text_chunk("Hi"), end_chunk("stop"), chunk(None, choices=[], usage=usage))))
    assert (seen.answer, seen.result.input_tokens, seen.result.output_tokens) == ("Hi", 0, 0)
