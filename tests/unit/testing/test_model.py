"""The scripted model."""

import json
from pathlib import Path

from skills_runtime.agent import Agent
from skills_runtime.llm import Backend, ChatRequest, ChatStreamEvent
from skills_runtime.testing import FakeModel, calls, says


async def _ask(model: Backend, answered: int = 0) -> list[ChatStreamEvent]:
    request = ChatRequest(model="m", messages=[{"role": "user"}], answered=answered)
    return [event async for event in model.stream_chat(request)]


async def test_text_is_streamed_in_its_pieces_with_its_usage() -> None:
    *text, end = await _ask(FakeModel([says("a", "b", usage={"input_tokens": 3})]))
    assert [event.text for event in text] == ["a", "b"]
    assert (end.type, end.finish_reason, end.usage) == ("completed", "stop", {"input_tokens": 3})


async def test_a_call_has_its_arguments_as_json() -> None:
    called, end = await _ask(FakeModel([calls("add", x=1, name="ü")]))
    (call,) = list(called.tool_calls or ())
    assert (call.name, json.loads(call.arguments), end.finish_reason) == ("add", {"x": 1, "name": "ü"}, "tool_calls")


async def test_a_list_is_one_answer() -> None:
    text, called, end = await _ask(FakeModel([[says("Both."), calls("add", x=1), calls("add", x=2)]]))
    assert (text.text, end.finish_reason) == ("Both.", "tool_calls")
    assert [json.loads(call.arguments)["x"] for call in called.tool_calls or ()] == [1, 2]


async def test_every_call_of_a_script_has_an_id_of_its_own() -> None:
    model = FakeModel([[calls("add"), calls("add")], calls("add")])
    events = [event for answered in (0, 1) for event in await _ask(model, answered)]
    assert [call.id for event in events for call in event.tool_calls or ()] == ["call_add", "call_add_2", "call_add_3"]


def test_requests_are_kept(tmp_path: Path) -> None:
    model = FakeModel([says("Hello.")])
    assert Agent(workspace_root=tmp_path, backend=model).run("Say hello.").final_output == "Hello."
    assert model.requests[0].messages[-1]["content"] == "Say hello."
