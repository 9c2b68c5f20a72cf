"""Schemas that lead elsewhere or cannot be used, answers too deep to read, and people whose code is odd."""

from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import Agent
from skills_runtime.errors import ConfigError
from skills_runtime.events import Event
from skills_runtime.ports import Question
from skills_runtime.testing import FakeModel, says
from tests.support.agents import Doing, agent_in, calls, payloads_of, succeed

RUN_ID = "run_1"


class Killed(BaseException):
    """The process dies."""


class Person:
    """Answers with whatever the test says, or raises it."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    async def ask(self, question: Question, *, call_id: str, timeout_ms: int | None = None) -> str:
        """Answer."""
        if isinstance(self._answer, BaseException):
            raise self._answer
        return self._answer


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "file:///etc/hostname"},
        {"$ref": "http://127.0.0.1:9/schema.json"},
        {"properties": {"a": {"$ref": "other.json#/a"}}},
        {"properties": {"a": {"type": "string", "pattern": "("}}},
    ],
    ids=["a file", "a service", "a neighbour", "a pattern that is none"],
)
def test_a_schema_that_is_not_whole_or_cannot_be_used_is_refused_and_leaves_no_run(
    tmp_path: Path, schema: dict[str, Any]
) -> None:
    agent = agent_in(tmp_path, [says("{}")], settings={"run": {"output_schema": schema}})
    with pytest.raises(ConfigError, match="not a JSON schema"):
        agent.run("Go.")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("schema", "answer"), [({"type": "array"}, "[" * 100_000), ({"$ref": "#"}, "{}")], ids=["answer", "schema"]
)
def test_what_is_nested_too_deeply_does_not_match(tmp_path: Path, schema: dict[str, Any], answer: str) -> None:
    result = agent_in(tmp_path, [says(answer)] * 3, settings={"run": {"output_schema": schema}}).run("Go.")
    assert (result.status, result.error_kind, result.output) == ("failed", "validation", None)


CLOSED = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (CLOSED, True),
        ({**CLOSED, "properties": {"a": CLOSED}}, True),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, False),
        ({**CLOSED, "required": []}, False),
        ({**CLOSED, "properties": {"a": {"type": "array", "items": {"type": "object"}}}}, False),
        ({"type": "array", "items": CLOSED}, False),
        ({"title": "anything"}, False),
    ],
)
def test_a_service_is_asked_to_promise_only_what_services_can_promise(
    tmp_path: Path, schema: dict[str, Any], *, strict: bool
) -> None:
    watched = FakeModel([says("[]")] * 3)
    agent_in(tmp_path, watched, settings={"run": {"output_schema": schema}}).run("Go.")
    response_format = watched.requests[0].response_format
    assert response_format is not None
    assert response_format["json_schema"] == {"name": "output", "schema": schema, "strict": strict}


def test_an_answer_that_is_no_text_is_made_text(tmp_path: Path) -> None:
    agent = agent_in(tmp_path, [calls(("ask_human", {"question": "How many?"})), says("done")], human=Person(5))
    result = agent.run("Go.")
    (response,) = payloads_of(result.wal_locator, "human_response")
    assert (result.status, response.answer) == ("completed", "5")


def test_an_effect_stays_unknown_without_an_answer_in_time(tmp_path: Path) -> None:
    def agent(*, dies: bool) -> Agent:
        def die(event: Event) -> None:
            if dies and event.type == "tool_call_started":
                raise Killed

        script = [calls(("do", {})), says("done")]
        agent = agent_in(tmp_path, script, human=Person(TimeoutError("nobody is there")), hooks=[die])
        agent.register_tool(Doing(succeed))
        return agent

    with pytest.raises(Killed):
        agent(dies=True).run("Go.", run_id=RUN_ID)
    result = agent(dies=False).run("", run_id=RUN_ID)
    (finished,) = payloads_of(result.wal_locator, "tool_call_finished")
    assert (result.status, finished.result["error_kind"]) == ("completed", "unknown")
    assert finished.result["stderr"].startswith("outcome unknown")
