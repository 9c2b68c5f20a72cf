"""The models that say what they were told to, and the script file they can be told it by."""

import json
from pathlib import Path

import pytest

from skills_runtime.errors import ConfigError, ModelError
from skills_runtime.llm import FakeChatBackend, FakeChatCall, ScriptedBackend, load_script
from skills_runtime.llm.chat_sse import ChatRequest, ChatStreamEvent
from skills_runtime.ports import Backend


def _text_call(text: str) -> FakeChatCall:
    return FakeChatCall(events=[ChatStreamEvent(type="text_delta", text=text)])


async def _ask(backend: Backend, answered: int = 0) -> list[ChatStreamEvent]:
    request = ChatRequest(model="m", messages=[{"role": "user"}], answered=answered)
    return [event async for event in backend.stream_chat(request)]


async def _compact(backend: Backend) -> str:
    request = ChatRequest(model="m", messages=[{"role": "user"}], answered=7, purpose="compaction")
    return "".join([event.text or "" async for event in backend.stream_chat(request)])


def _script(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "script.yaml"
    path.write_text(text, encoding="utf-8")
    return path


async def test_an_answer_that_forgot_its_end_gets_one() -> None:
    assert [event.type for event in await _ask(FakeChatBackend(calls=[_text_call("x")]))] == ["text_delta", "completed"]


async def test_a_scripted_model_gives_the_same_answer_at_the_same_point_of_a_run() -> None:
    backend = ScriptedBackend([_text_call("one"), _text_call("two")])
    assert [(await _ask(backend, n))[0].text for n in (1, 0, 1)] == ["two", "one", "two"]


async def test_a_scripted_model_does_not_count_what_the_conversation_still_holds() -> None:
    request = ChatRequest(model="m", messages=[{"role": "assistant"}] * 5, answered=1)
    events = [event async for event in ScriptedBackend([_text_call("one"), _text_call("two")]).stream_chat(request)]
    assert events[0].text == "two"


async def test_summaries_come_in_order_and_the_last_one_again() -> None:
    backend = ScriptedBackend([], compactions=["first", "last"])
    assert [await _compact(backend) for _ in range(3)] == ["first", "last", "last"]


async def test_a_script_without_a_summary_says_so() -> None:
    with pytest.raises(ModelError, match="the script has no summary"):
        await _compact(ScriptedBackend([_text_call("one")]))


async def test_a_fake_model_answers_a_compaction_like_any_request() -> None:
    assert await _compact(FakeChatBackend([_text_call("one")])) == "one"


async def test_an_exhausted_fake_model_names_its_number_of_answers() -> None:
    backend = FakeChatBackend([_text_call("x")])
    await _ask(backend)
    with pytest.raises(ModelError, match="has 1 answers"):
        await _ask(backend)


async def test_a_script_holds_text_calls_and_usage(tmp_path: Path) -> None:
    text = """
calls:
  - text: 好
    tool_calls: [{name: file_write, arguments: {path: a, n: 1}}, {name: file_read, id: mine}]
    usage: {input_tokens: 5}
  - text: done
"""
    backend = load_script(_script(tmp_path, text))
    text_event, batch, end = await _ask(backend)
    assert text_event.text == "好"
    assert batch.tool_calls
    first, second = batch.tool_calls
    assert (first.id, first.name, json.loads(first.arguments)) == ("call_1_1", "file_write", {"path": "a", "n": 1})
    assert (second.id, second.arguments) == ("mine", "{}")
    assert (end.finish_reason, end.usage) == ("tool_calls", {"input_tokens": 5})
    assert [event.finish_reason for event in await _ask(backend, 1)] == [None, "stop"]


async def test_a_script_holds_reasoning_an_end_and_summaries(tmp_path: Path) -> None:
    text = "calls: [{reasoning: hm, text: half, finish_reason: length}]\ncompactions: [so far]"
    backend = load_script(_script(tmp_path, text))
    events = await _ask(backend)
    assert [(event.type, event.text) for event in events] == [
        ("reasoning_delta", "hm"),
        ("text_delta", "half"),
        ("completed", None),
    ]
    assert events[-1].finish_reason == "length"
    assert await _compact(backend) == "so far"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("calls: [", "is not YAML"),
        ("", "is not a script"),
        ("[]", "is not a script"),
        ("calls: [{texts: a}]", "is not a script"),
        ("calls: [{tool_calls: [{arguments: {}}]}]", "is not a script"),
        ("calls: [{text: 7}]", "is not a script"),
        ("calls: []\ncompactions: sum", "is not a script"),
    ],
)
def test_a_script_that_cannot_be_used_is_refused_by_name(tmp_path: Path, text: str, complaint: str) -> None:
    path = _script(tmp_path, text)
    with pytest.raises(ConfigError, match=complaint) as caught:
        load_script(path)
    assert str(path) in caught.value.message


def test_a_script_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        load_script(tmp_path / "none.yaml")


def test_a_directory_is_not_a_script(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_script(tmp_path)


def test_a_script_that_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "script.yaml"
    path.write_bytes(b"calls: \xff\xfe")
    with pytest.raises(ConfigError):
        load_script(path)
