"""Functions of other people as tools: whatever they do, the run goes on and the model is told the truth."""

import asyncio
import functools
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import Agent
from skills_runtime.errors import ValidationFailed
from skills_runtime.events import Event
from skills_runtime.events.payloads import ToolCallStarted
from skills_runtime.ports import ToolContext
from skills_runtime.testing import FakeModel, says
from skills_runtime.tools import tool_from
from tests.support.agents import agent_in, calls, payloads_of

RUN_ID = "run_1"


class Killed(BaseException):
    """The process dies."""


class Mute(Exception):
    """An error that cannot say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


def told_by(directory: Path, function: Callable[..., Any], **options: Any) -> dict[str, Any]:
    """The result of the one call of a run that goes on to its end."""
    agent = agent_in(directory, [calls(("odd", {})), says("done")])
    agent.tool(name="odd", **options)(function)
    result = agent.run("Go.")
    assert result.status == "completed"
    (finished,) = payloads_of(result.wal_locator, "tool_call_finished")
    return finished.result


def exits() -> None:
    sys.exit(3)


async def exits_in_the_loop() -> None:
    sys.exit(3)


async def cancels_itself() -> None:
    task = asyncio.create_task(asyncio.sleep(3600))
    task.cancel()
    await task


def raises_a_cancellation() -> None:
    raise asyncio.CancelledError


def is_mute() -> None:
    raise Mute


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (exits, "SystemExit: 3"),
        (exits_in_the_loop, "SystemExit: 3"),
        (cancels_itself, "outcome unknown: the call cancelled itself"),
        (raises_a_cancellation, "outcome unknown: the call cancelled itself"),
        (is_mute, "Mute: <exception str() failed>"),
    ],
)
def test_a_function_that_gives_up_ends_its_call_and_not_the_run(
    tmp_path: Path, function: Callable[..., Any], words: str
) -> None:
    result = told_by(tmp_path, function)
    assert (result["ok"], result["error_kind"], result["stderr"]) == (False, "unknown", words)


async def yields_later() -> AsyncIterator[int]:
    yield 1
    yield 2


async def two() -> list[int]:
    return [1, 2]


@functools.wraps(exits)
def looks_as_if_it_were_not_async() -> Any:
    return two()


@pytest.mark.parametrize("function", [yields_later, looks_as_if_it_were_not_async])
def test_what_has_to_be_waited_for_is_waited_for(tmp_path: Path, function: Callable[..., Any]) -> None:
    assert told_by(tmp_path, function)["data"] == {"result": [1, 2]}


def test_what_a_function_yields_is_made_in_its_thread_and_not_where_the_loop_runs(tmp_path: Path) -> None:
    def yields() -> Iterator[bool]:
        yield threading.current_thread() is threading.main_thread()

    assert told_by(tmp_path, yields)["data"] == {"result": [False]}


def _holding_itself() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "data"),
    [
        ("half \ud800", "half \ufffd"),
        ({"names": ["\udce9"]}, {"names": ["\ufffd"]}),
        (b"\xff\xfe", "__4="),
        (b"text", "text"),
        (_holding_itself(), "[[[[[[[...]]]]]]]"),
        ({"\ud800": 1}, "{'\\ud800': 1}"),
    ],
)
def test_a_value_that_is_no_text_does_not_make_a_call_that_worked_a_failure(
    tmp_path: Path, value: Any, data: Any
) -> None:
    result = told_by(tmp_path, lambda: value)
    assert (result["ok"], result["data"]) == (True, {"result": data})


def of_a_type_nobody_knows(thing: threading.Thread) -> None:
    """Takes what JSON cannot hold."""


def of_a_type_that_is_missing(thing: object) -> None:
    """Takes what is not there."""


of_a_type_that_is_missing.__annotations__["thing"] = "Missing"


@pytest.mark.parametrize(
    ("function", "options"),
    [
        (of_a_type_nobody_knows, {}),
        (of_a_type_that_is_missing, {}),
        (int, {}),
        (lambda: None, {}),
        (exits, {"name": "not a name"}),
        (exits, {"timeout_sec": 0}),
        (exits, {"timeout_sec": -1}),
        (exits, {"timeout_sec": float("nan")}),
        (exits, {"max_parallel": 0}),
    ],
)
def test_what_cannot_be_offered_is_refused_in_a_sentence(function: Callable[..., Any], options: dict[str, Any]) -> None:
    with pytest.raises(ValidationFailed) as caught:
        tool_from(function, **options)
    assert caught.value.hint
    assert "\n" not in caught.value.message


def test_an_unknown_type_and_one_json_cannot_hold_are_distinguished() -> None:
    with pytest.raises(ValidationFailed, match="'Missing' is not defined") as caught:
        tool_from(of_a_type_that_is_missing)
    assert "top of its module" in caught.value.hint


def test_a_context_may_be_left_open(tmp_path: Path) -> None:
    def odd(context: ToolContext | None = None) -> str:
        return context.run_id if context else "nobody"

    assert told_by(tmp_path, odd)["stdout"].startswith("run_")


def test_an_outcome_can_be_looked_up_by_the_key_of_its_call(tmp_path: Path) -> None:
    keys: list[str] = []

    def agent(*, dies: bool) -> Agent:
        def die(event: Event) -> None:
            if dies and event.type == "tool_call_started":
                assert isinstance(event.payload, ToolCallStarted)
                keys.append(event.payload.idempotency_key)
                raise Killed

        def order(what: str) -> str:
            return f"{what} ordered again"

        def verify(what: str, call: ToolContext) -> str:
            return f"{what} was ordered" if call.idempotency_key in keys else "nobody knows"

        agent = agent_in(tmp_path, FakeModel([calls(("order", {"what": "tea"})), says("done")]), hooks=[die])
        agent.tool(verify=verify)(order)
        return agent

    with pytest.raises(Killed):
        agent(dies=True).run("Go.", run_id=RUN_ID)
    result = agent(dies=False).run("", run_id=RUN_ID)
    (finished,) = payloads_of(result.wal_locator, "tool_call_finished")
    assert finished.result["stdout"] == "tea was ordered"


def test_an_outcome_that_cannot_be_found_out_is_unknown_and_the_run_continues(tmp_path: Path) -> None:
    done: list[str] = []

    def agent(*, dies: bool) -> Agent:
        def die(event: Event) -> None:
            if dies and event.type == "tool_call_started":
                raise Killed

        def verify() -> None:
            raise ConnectionError("the shop is closed")

        agent = agent_in(tmp_path, FakeModel([calls(("order", {})), says("done")]), hooks=[die])
        agent.tool(name="order", verify=verify)(lambda: done.append("tea"))
        return agent

    with pytest.raises(Killed):
        agent(dies=True).run("Go.", run_id=RUN_ID)
    result = agent(dies=False).run("", run_id=RUN_ID)
    (finished,) = payloads_of(result.wal_locator, "tool_call_finished")
    assert (result.status, finished.result["error_kind"], done) == ("completed", "unknown", [])
    assert "the shop is closed" in finished.result["stderr"]
