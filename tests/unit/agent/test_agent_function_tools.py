"""Typed functions as tools, and the stream of a run's events."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from skills_runtime.agent import Agent
from skills_runtime.errors import ValidationFailed
from skills_runtime.events import Event
from skills_runtime.events.payloads import ToolCallFinished
from skills_runtime.llm import FakeChatBackend, FakeChatCall
from skills_runtime.ports import ChatStreamEvent, ToolCall, ToolContext, ToolResult
from skills_runtime.testing import FakeModel, calls, says
from skills_runtime.tools import tool, tool_from
from tests.support.agents import payloads_of


class Point(BaseModel):
    x: int
    y: int = 0


def calling(*tool_calls: tuple[str, str]) -> FakeChatBackend:
    calls = [ToolCall(id=f"c{number}", name=name, arguments=text) for number, (name, text) in enumerate(tool_calls)]
    return FakeChatBackend(
        [
            FakeChatCall([ChatStreamEvent(type="tool_calls", tool_calls=calls)]),
            FakeChatCall([ChatStreamEvent(type="text_delta", text="done")]),
        ]
    )


def agent_for(workspace: Path, *tool_calls: tuple[str, str]) -> Agent:
    allowed = {"safety": {"mode": "allow"}}
    return Agent(workspace_root=workspace, backend=calling(*tool_calls), session_settings=allowed)


def results_of(agent: Agent) -> dict[str, dict[str, Any]]:
    payloads = [event.payload for event in agent.run_stream("go")]
    return {payload.call_id: payload.result for payload in payloads if isinstance(payload, ToolCallFinished)}


def test_a_function_gets_typed_arguments_and_not_dictionaries(tmp_path: Path) -> None:
    agent = agent_for(tmp_path, ("length", '{"points": [{"x": 3}, {"x": 4, "y": 1}]}'))

    @agent.tool
    def length(points: list[Point]) -> int:
        """Add the coordinates."""
        return sum(point.x + point.y for point in points)

    assert results_of(agent)["c0"]["data"] == {"result": 8}


def test_a_function_takes_the_place_of_a_built_in_tool_only_when_asked_to(tmp_path: Path) -> None:
    agent = agent_for(tmp_path, ("list_dir", '{"dir_path": "."}'))

    def list_dir(dir_path: str) -> str:
        """List it in another way."""
        return f"nothing in {dir_path}"

    with pytest.raises(ValidationFailed, match="already registered") as caught:
        agent.tool(list_dir)
    assert "override=True" in caught.value.hint
    agent.tool(override=True)(list_dir)
    assert results_of(agent)["c0"]["stdout"] == "nothing in ."


def test_an_async_function_is_awaited(tmp_path: Path) -> None:
    agent = agent_for(tmp_path, ("later", "{}"))

    @agent.tool(effect="read")
    async def later() -> str:
        """Wait a turn of the loop."""
        await asyncio.sleep(0)
        return "now"

    assert results_of(agent)["c0"]["stdout"] == "now"


def test_a_context_is_filled_in_and_not_told_to_the_model(tmp_path: Path) -> None:
    def which(context: ToolContext) -> str:
        """Name the call."""
        return context.call_id

    assert tool_from(which).spec.parameters["properties"] == {}
    agent = agent_for(tmp_path, ("which", "{}"))
    agent.tool(which)
    assert results_of(agent)["c0"]["stdout"] == "c0"


def test_arguments_that_do_not_fit_are_reported_to_the_model(tmp_path: Path) -> None:
    agent = agent_for(tmp_path, ("length", '{"points": [{"x": "three"}], "extra": 1}'))

    @agent.tool
    def length(points: list[Point]) -> int:
        """Count."""
        return len(points)

    result = results_of(agent)["c0"]
    assert (result["ok"], result["error_kind"]) == (False, "validation")
    assert "points.0.x" in result["stderr"]
    assert "extra" in result["stderr"]


def test_a_nested_model_keeps_its_schema() -> None:
    def length(points: list[Point]) -> int:
        """Count."""
        return len(points)

    schema = tool_from(length).spec.parameters
    assert schema["$defs"]["Point"]["properties"]["x"]["type"] == "integer"
    assert schema["additionalProperties"] is False


def test_a_function_that_cannot_be_described_is_refused() -> None:
    def anything(*values: int) -> int:
        """Add."""
        return sum(values)

    with pytest.raises(ValidationFailed, match="`values` of `anything`"):
        tool_from(anything)


def test_calls_that_only_read_run_in_parallel(tmp_path: Path) -> None:
    agent = agent_for(tmp_path, *(("meet", "{}") for _ in range(5)))
    arrived = 0
    everybody = asyncio.Event()

    @agent.tool(effect="read", timeout_sec=20)
    async def meet() -> str:
        """Wait for all the others."""
        nonlocal arrived
        arrived += 1
        if arrived == 5:
            everybody.set()
        await everybody.wait()
        return "met"

    results = results_of(agent)
    assert [results[f"c{number}"]["stdout"] for number in range(5)] == ["met"] * 5


def test_a_tool_may_limit_how_many_of_its_calls_run_at_once(tmp_path: Path) -> None:
    agent = agent_for(tmp_path, *(("ask", "{}") for _ in range(6)))
    under_way: list[int] = []

    @agent.tool(effect="read", max_parallel=2)
    async def ask() -> int:
        """Say how many run now."""
        under_way.append(1)
        for _ in range(10):
            await asyncio.sleep(0)
        count = len(under_way)
        under_way.pop()
        return count

    results = results_of(agent)
    assert max(results[f"c{number}"]["data"]["result"] for number in range(6)) == 2


def test_calls_with_an_effect_run_one_after_another(tmp_path: Path) -> None:
    agent = agent_for(tmp_path, ("alone", "{}"), ("alone", "{}"))
    running: list[int] = []

    @agent.tool
    async def alone() -> int:
        """Say how many run now."""
        running.append(1)
        await asyncio.sleep(0)
        count = len(running)
        running.clear()
        return count

    results = results_of(agent)
    assert [results["c0"]["data"], results["c1"]["data"]] == [{"result": 1}, {"result": 1}]


def test_a_call_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    agent = agent_for(tmp_path, ("never", "{}"))

    @agent.tool(timeout_sec=0.01)
    async def never() -> None:
        """Wait for ever."""
        await asyncio.Event().wait()

    assert results_of(agent)["c0"]["error_kind"] == "timeout"


def test_a_limit_inside_a_group_leaves_no_call_to_the_model_unanswered(tmp_path: Path) -> None:
    settings = {"safety": {"mode": "allow"}, "run": {"max_steps": 3}}
    backend = calling(*(("quick", "{}") for _ in range(5)))
    agent = Agent(workspace_root=tmp_path, backend=backend, session_settings=settings)

    @agent.tool(effect="read")
    def quick() -> ToolResult:
        """Answer."""
        return ToolResult(ok=True)

    result = agent.run("go")
    assert (result.status, result.error_kind) == ("failed", "budget_exceeded")


async def test_leaving_a_stream_early_cancels_the_run(tmp_path: Path) -> None:
    agent = agent_for(tmp_path, ("never", "{}"))

    @agent.tool
    async def never() -> None:
        """Wait for ever."""
        await asyncio.Event().wait()

    events = agent.run_stream_async("go")
    seen = [event.type async for event in _until(events, "tool_call_started")]
    await events.aclose()

    assert seen[-1] == "tool_call_started"
    (log,) = tmp_path.glob(".skills_runtime_sdk/runs/*/run.json")
    assert '"cancelled"' in log.read_text(encoding="utf-8")


async def _until(events: AsyncIterator[Event], expected: str) -> AsyncIterator[Event]:
    async for event in events:
        yield event
        if event.type == expected:
            return


def test_a_function_under_tool_is_given_to_any_agent_and_stays_a_function(tmp_path: Path) -> None:
    @tool(effect="read")
    def twice(number: int) -> int:
        """Double a number."""
        return 2 * number

    model = FakeModel([calls("twice", number=4), says("ok")])
    result = Agent(workspace_root=tmp_path, backend=model, tools=[twice]).run("Go.")

    assert twice(4) == 8
    assert [done.result["stdout"] for done in payloads_of(result.wal_locator, "tool_call_finished")] == ["8"]
