"""Structured output: data that matches a schema, or the model hears why not, or the run has failed."""

import json
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import RunResult
from skills_runtime.errors import ConfigError
from skills_runtime.testing import FakeModel, says
from tests.support.agents import agent_in, calls, payloads_of, writes
from tests.support.events import check_request

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "pages": {"type": "integer", "minimum": 1}},
    "required": ["title", "pages"],
    "additionalProperties": False,
}
GOOD = '{"title": "大海", "pages": 3}'


def ran(directory: Path, *answers: str, schema: Any = SCHEMA) -> tuple[RunResult, FakeModel]:
    watched = FakeModel([says(answer) for answer in answers])
    result = agent_in(directory, watched, settings={"run": {"output_schema": schema}}).run("Go.")
    for request in watched.requests:
        check_request(request)
    return result, watched


def test_an_answer_that_matches_is_data(tmp_path: Path) -> None:
    result, watched = ran(tmp_path, GOOD)
    assert (result.status, result.output, result.final_output) == ("completed", {"title": "大海", "pages": 3}, GOOD)
    assert watched.requests[0].response_format is not None
    assert watched.requests[0].response_format["json_schema"]["schema"] == SCHEMA


def test_the_model_is_told_the_schema_whatever_its_service_does_with_it(tmp_path: Path) -> None:
    _, watched = ran(tmp_path, GOOD)
    assert json.dumps(SCHEMA, separators=(",", ":")) in watched.requests[0].messages[0]["content"]


def test_a_schema_that_is_too_long_to_be_told_is_only_sent_along(tmp_path: Path) -> None:
    schema = {**SCHEMA, "description": "x" * 20_000}
    result, watched = ran(tmp_path, GOOD, schema=schema)
    assert result.status == "completed"
    assert "schema" not in watched.requests[0].messages[0]["content"]


def test_without_a_schema_there_is_no_data(tmp_path: Path) -> None:
    watched = FakeModel([says(GOOD)])
    result = agent_in(tmp_path, watched).run("Go.")
    assert (result.output, watched.requests[0].response_format) == (None, None)


BAD = {
    "no JSON": "The title is 大海.",
    "fenced JSON": f"```json\n{GOOD}\n```",
    "half of it": '{"title": "大海"',
    "a list": "[]",
    "a missing field": '{"title": "x"}',
    "a wrong type": '{"title": "x", "pages": "3"}',
    "too small": '{"title": "x", "pages": 0}',
    "too many fields": '{"title": "x", "pages": 1, "more": 1}',
    "a number that is none": '{"title": "x", "pages": NaN}',
}


@pytest.mark.parametrize("how", BAD)
def test_an_answer_that_does_not_match_is_corrected(tmp_path: Path, how: str) -> None:
    result, watched = ran(tmp_path, BAD[how], GOOD)
    assert (result.status, result.output) == ("completed", {"title": "大海", "pages": 3})
    (rejected,) = payloads_of(result.wal_locator, "output_rejected")
    assert watched.requests[1].messages[-2:] == [
        {"role": "assistant", "content": BAD[how]},
        {"role": "user", "content": rejected.message},
    ]


def test_the_third_answer_that_does_not_match_fails_the_run(tmp_path: Path) -> None:
    result, watched = ran(tmp_path, *list(BAD.values())[:3], GOOD)
    assert (result.status, result.error_kind, result.output) == ("failed", "validation", None)
    assert len(watched.requests) == 3
    assert "run.output_schema" in result.final_output


def test_only_the_last_answer_has_to_match(tmp_path: Path) -> None:
    watched = FakeModel([calls(writes("a.txt", "x"), text="I write."), says(GOOD)])
    result = agent_in(tmp_path, watched, settings={"run": {"output_schema": SCHEMA}}).run("Go.")
    assert (result.status, len(watched.requests)) == ("completed", 2)


@pytest.mark.parametrize(("schema", "answer"), [({"type": "array"}, "[1]"), ({"type": "string"}, '"x"'), ({}, "null")])
def test_data_of_any_shape_may_be_asked_for(tmp_path: Path, schema: Any, answer: str) -> None:
    assert ran(tmp_path, answer, schema=schema)[0].status == "completed"


@pytest.mark.parametrize("schema", [{"type": 5}, {"type": "objekt"}, {"properties": 7}])
def test_what_is_no_schema_leaves_no_run_behind(tmp_path: Path, schema: dict[str, Any]) -> None:
    agent = agent_in(tmp_path, [says("{}")], settings={"run": {"output_schema": schema}})
    with pytest.raises(ConfigError, match="not a JSON schema"):
        agent.run("Go.")
    assert not list(tmp_path.iterdir())
