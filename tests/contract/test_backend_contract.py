"""What every backend promises, over all of them: the fakes, the replay, and the real one against a real service."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from skills_runtime.errors import ModelError
from skills_runtime.llm import (
    FakeChatBackend,
    FakeChatCall,
    OpenAIChatBackend,
    RecordedAnswer,
    ReplayBackend,
    ScriptedBackend,
)
from skills_runtime.ports import Backend, ChatRequest, ChatStreamEvent, ToolCall
from tests.support import model_server


@dataclass(frozen=True, slots=True)
class Said:
    """What a model is to say: text, and calls by tool name and arguments."""

    text: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()


Making = Callable[[Sequence[Said]], Backend]


def _tool_calls(said: Said) -> list[ToolCall]:
    return [
        ToolCall(id=f"call_{index}", name=name, arguments=json.dumps(arguments))
        for index, (name, arguments) in enumerate(said.calls)
    ]


def _scripted_call(said: Said) -> FakeChatCall:
    events = [ChatStreamEvent(type="text_delta", text=said.text)] if said.text else []
    if said.calls:
        events.append(ChatStreamEvent(type="tool_calls", tool_calls=_tool_calls(said)))
    return FakeChatCall(
        [*events, ChatStreamEvent(type="completed", finish_reason="tool_calls" if said.calls else "stop")]
    )


@pytest.fixture
def cleanup() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture(params=["fake", "scripted", "replay", "openai"])
def making(request: pytest.FixtureRequest, cleanup: ExitStack) -> Making:
    """Makes a backend that gives these answers."""

    def openai(script: Sequence[Said]) -> Backend:
        answers = [
            model_server.calls(*said.calls, text=said.text) if said.calls else model_server.says(said.text)
            for said in script
        ]
        server = cleanup.enter_context(model_server.start(answers))
        return OpenAIChatBackend(base_url=server.base_url, api_key="secret", timeout_sec=10)

    makers: dict[str, Making] = {
        "fake": lambda script: FakeChatBackend(map(_scripted_call, script)),
        "scripted": lambda script: ScriptedBackend(map(_scripted_call, script)),
        "replay": lambda script: ReplayBackend([RecordedAnswer(said.text, _tool_calls(said)) for said in script]),
        "openai": openai,
    }
    return makers[request.param]


async def _ask(backend: Backend, answered: int = 0) -> list[ChatStreamEvent]:
    request = ChatRequest(model="m", messages=[{"role": "user", "content": "go"}], answered=answered)
    try:
        return [event async for event in backend.stream_chat(request)]
    finally:
        if isinstance(backend, OpenAIChatBackend):
            await backend.aclose()


async def test_an_answer_ends_with_exactly_one_completed(making: Making) -> None:
    events = await _ask(making([Said("Hello")]))
    assert [event.type for event in events].count("completed") == 1
    assert events[-1].type == "completed"
    assert events[-1].finish_reason == "stop"


async def test_the_text_of_an_answer_is_the_pieces_joined(making: Making) -> None:
    events = await _ask(making([Said("Grüß Gott 你好 🎉")]))
    assert "".join(event.text or "" for event in events if event.type == "text_delta") == "Grüß Gott 你好 🎉"


async def test_calls_arrive_whole_and_in_order_before_the_end(making: Making) -> None:
    wanted: tuple[tuple[str, dict[str, Any]], ...] = (("first", {"path": "a", "n": 1}), ("second", {}))
    events = await _ask(making([Said("so:", wanted)]))
    (batch,) = [event.tool_calls or [] for event in events if event.type == "tool_calls"]
    assert [(call.name, json.loads(call.arguments)) for call in batch] == list(wanted)
    assert len({call.id for call in batch}) == 2
    assert events[-1].finish_reason == "tool_calls"
    assert events[-2].type == "tool_calls"


async def test_answers_come_in_the_order_of_the_run(making: Making) -> None:
    backend = making([Said("one"), Said("two")])
    first, second = await _ask(backend, 0), await _ask(backend, 1)
    assert [event.text for event in (first[0], second[0])] == ["one", "two"]


async def test_the_pieces_of_a_call_add_up_to_it(making: Making) -> None:
    events = await _ask(making([Said("", (("first", {"n": 1}), ("second", {"m": "üñ"})))]))
    pieces = [event.call_delta for event in events if event.call_delta is not None]
    (batch,) = [event.tool_calls or [] for event in events if event.type == "tool_calls"]
    for index in {piece.index for piece in pieces}:  # those that do not stream calls have none
        own = [piece for piece in pieces if piece.index == index]
        assert "".join(piece.name for piece in own) == batch[index].name
        assert "".join(piece.arguments for piece in own) == batch[index].arguments
        assert {piece.id for piece in own} == {batch[index].id}


async def test_a_backend_without_a_further_answer_raises_a_model_error(making: Making) -> None:
    backend = making([])
    with pytest.raises(ModelError):
        await _ask(backend)


async def test_an_empty_answer_is_still_complete(making: Making) -> None:
    events = await _ask(making([Said()]))
    assert [event.type for event in events if event.text or event.type == "completed"] == ["completed"]
