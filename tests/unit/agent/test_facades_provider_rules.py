"""Whatever a model says, what it is sent next is something that every provider takes."""

import json
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.testing import FakeModel, says
from tests.support.agents import Doing, agent_in, calls, succeed
from tests.support.events import check_request, problems_of

CALL = {"id": "a", "type": "function", "function": {"name": "t", "arguments": "{}"}}
USER = {"role": "user", "content": "go"}
ASSISTANT = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "a", "content": "{}"}
GOOD: list[dict[str, Any]] = [{"role": "system", "content": "s"}, USER, ASSISTANT, RESULT, USER]


def test_a_good_conversation_has_no_problem() -> None:
    assert problems_of(GOOD) == []


def _call(**changes: Any) -> dict[str, Any]:
    return {**ASSISTANT, "tool_calls": [{**CALL, **changes}]}


WRONG: dict[str, list[dict[str, Any]]] = {
    "a role nobody knows": [{"role": "developer", "content": "x"}, USER],
    "a second system prompt": [USER, {"role": "system", "content": "s"}, USER],
    "an answer first": [{"role": "assistant", "content": "hi"}, USER],
    "an answer last": [USER, {"role": "assistant", "content": "hi"}],
    "an empty answer": [USER, {"role": "assistant", "content": None}, USER],
    "an unknown field": [{**USER, "images": []}],
    "a result without a call": [USER, RESULT],
    "a result twice": [USER, ASSISTANT, RESULT, RESULT, USER],
    "no result": [USER, ASSISTANT, USER],
    "no result at the end": [USER, ASSISTANT],
    "somebody between a call and its result": [USER, ASSISTANT, USER, RESULT],
    "ids twice": [USER, {**ASSISTANT, "tool_calls": [CALL, CALL]}, RESULT, RESULT],
    "no calls in the list": [USER, {**ASSISTANT, "tool_calls": []}, USER],
    "arguments that are not JSON": [USER, _call(function={"name": "t", "arguments": "{"}), RESULT],
    "arguments that are no object": [USER, _call(function={"name": "t", "arguments": "[]"}), RESULT],
    "a name with a dot": [USER, _call(function={"name": "a.b", "arguments": "{}"}), RESULT],
    "no name": [USER, _call(function={"name": "", "arguments": "{}"}), RESULT],
    "no id": [USER, _call(id=""), {**RESULT, "tool_call_id": ""}],
    "half a character": [{"role": "user", "content": "\ud800"}],
    "a content that is a number": [{"role": "user", "content": 7}],
    "a picture from the web": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://x"}}]}],
    "a result that is data": [USER, ASSISTANT, {**RESULT, "content": {"ok": True}}],
}


@pytest.mark.parametrize("how", WRONG)
def test_a_wrong_conversation_has_a_problem(how: str) -> None:
    assert problems_of(WRONG[how])


RAW = {
    "not JSON": '{"path": "a.txt", "content": "geheim',
    "nothing": "",
    "a list": "[1]",
    "text": '"x"',
    "two objects": "{}{}",
    "not a number": '{"n": NaN}',
    "half a character": '{"x": "\\ud800"}',
}


@pytest.mark.parametrize("how", RAW)
def test_invalid_arguments_are_sent_back_as_valid_json(tmp_path: Path, how: str) -> None:
    """Services parse the arguments of earlier calls, and refuse every later request when they cannot."""
    watched = FakeModel([calls(("do", RAW[how])), says("I see.")])
    agent = agent_in(tmp_path, watched)
    agent.register_tool(Doing(succeed))
    assert agent.run("Go.").status == "completed"
    check_request(watched.requests[-1])


def test_the_model_is_shown_its_unreadable_arguments(tmp_path: Path) -> None:
    watched = FakeModel([calls(("file_write", RAW["not JSON"])), says("I see.")])
    agent_in(tmp_path, watched).run("Go.")
    assert "geheim" in json.dumps(watched.requests[-1].messages)


@pytest.mark.parametrize("name", ["functions.do", "do it", "做", "", "x" * 100, "a/b", "do\n"])
def test_a_name_no_tool_can_have_is_sent_back_as_one_a_tool_can_have(tmp_path: Path, name: str) -> None:
    watched = FakeModel([calls((name, {})), says("I see.")])
    assert agent_in(tmp_path, watched).run("Go.").status == "completed"
    check_request(watched.requests[-1])
    result = json.loads(watched.requests[-1].messages[-1]["content"])
    assert (result["ok"], result["error_kind"]) == (False, "not_found")


@pytest.mark.parametrize("ids", [["same", "same"], ["", ""], ["a", ""], ["call_2", ""], ["x\n", "x\n"]])
def test_ids_that_are_none_or_not_distinct_are_made_distinct(tmp_path: Path, ids: list[str]) -> None:
    script = [calls(("do", {"n": 1}), ("do", {"n": 2}), ids=ids), calls(("do", {"n": 3}), ids=ids[:1]), says("ok")]
    watched, tool = FakeModel(script), Doing(succeed)
    agent = agent_in(tmp_path, watched)
    agent.register_tool(tool)
    agent.run("Go.")
    check_request(watched.requests[-1])
    assert tool.times == 3
    sent = [call["id"] for message in watched.requests[-1].messages for call in message.get("tool_calls", ())]
    assert len(set(sent)) == 3, "not even across answers"


def test_ten_calls_in_parallel_are_answered_each(tmp_path: Path) -> None:
    watched, tool = (
        FakeModel([calls(*(("do", {"n": n}) for n in range(10))), says("ok")]),
        Doing(succeed, effect="read"),
    )
    agent = agent_in(tmp_path, watched)
    agent.register_tool(tool)
    agent.run("Go.")
    check_request(watched.requests[-1])
    assert tool.times == 10
