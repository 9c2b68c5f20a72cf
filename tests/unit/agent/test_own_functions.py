"""Functions of the embedding program, and approvers that are plain functions."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from skills_runtime import Agent
from skills_runtime.errors import ConfigError, ValidationFailed
from skills_runtime.ports import ApprovalRequest, ToolContext, ToolResult, ToolSpec
from skills_runtime.testing import FakeModel, calls, says
from skills_runtime.tools import FunctionTool, tool

MODES = ("auto", "ask", "allow")


def agent_for(workspace: Path, name: str, *, approver: Any = None, mode: str | None = None, **arguments: Any) -> Agent:
    model = FakeModel([calls(name, **arguments), says("done")])
    settings = {"safety": {"mode": mode}} if mode else {}
    return Agent(workspace_root=workspace, backend=model, approval_provider=approver, session_settings=settings)


@pytest.mark.parametrize("mode", MODES)
def test_a_function_runs_without_an_approver(tmp_path: Path, mode: str) -> None:
    agent, cities = agent_for(tmp_path, "weather", mode=mode, city="Oslo"), list[str]()

    @agent.tool
    def weather(city: str) -> str:  # pyright: ignore[reportUnusedFunction]
        """Tell the weather."""
        cities.append(city)
        return "sunny"

    assert agent.run("Go.").status == "completed"
    assert cities == ["Oslo"]


def test_a_function_that_is_given_to_the_agent_runs_too(tmp_path: Path) -> None:
    @tool
    def weather(city: str) -> str:
        """Tell the weather."""
        return f"sunny in {city}"

    model = FakeModel([calls("weather", city="Oslo"), says("done")])
    assert Agent(workspace_root=tmp_path, backend=model, tools=[weather]).run("Go.").status == "completed"


@pytest.mark.parametrize("mode", MODES)
def test_a_function_that_asks_fails_at_once_without_an_approver(tmp_path: Path, mode: str) -> None:
    agent, booked = agent_for(tmp_path, "book", mode=mode), list[bool]()

    @agent.tool(approval="ask", effect="read")
    def book() -> str:  # pyright: ignore[reportUnusedFunction]
        """Book a trip."""
        booked.append(True)
        return "booked"

    result = agent.run("Go.")
    assert (result.status, result.error_kind) == ("failed", "config_error")
    assert booked == []


def yes(request: ApprovalRequest) -> str:
    return "approved" if request.tool == "book" else "denied"


async def yes_later(request: ApprovalRequest) -> str:
    await asyncio.sleep(0)
    return yes(request)


def no(_: ApprovalRequest) -> str:
    return "denied"


@pytest.mark.parametrize(("approver", "times"), [(yes, 1), (yes_later, 1), (no, 0)])
def test_an_approver_is_a_plain_function(tmp_path: Path, approver: Any, times: int) -> None:
    agent, booked = agent_for(tmp_path, "book", approver=approver), list[bool]()

    @agent.tool(approval="ask")
    def book() -> str:  # pyright: ignore[reportUnusedFunction]
        """Book a trip."""
        booked.append(True)
        return "booked"

    assert agent.run("Go.").status == "completed"
    assert len(booked) == times


def test_an_approver_that_is_no_function_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="`approval_provider` is a `str`"):
        agent_for(tmp_path, "book", approver="approved")


def test_an_approval_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationFailed, match="`approval` of `book` is 'never'"):

        @tool(approval="never")  # pyright: ignore[reportCallIssue, reportArgumentType, reportUntypedFunctionDecorator]
        def book() -> str:
            """Book a trip."""
            return "booked"


@pytest.mark.parametrize("name", ["shell_command", "skill_exec"])
def test_a_function_in_the_place_of_a_built_in_tool_asks(tmp_path: Path, name: str) -> None:
    agent = agent_for(tmp_path, name, command="ls")

    @agent.tool(name=name, override=True)
    def run(command: str) -> str:  # pyright: ignore[reportUnusedFunction]
        """Run something outside the sandbox."""
        raise AssertionError(command)

    result = agent.run("Go.")
    assert (result.status, result.error_kind) == ("failed", "config_error")


def test_a_function_that_was_replaced_by_another_stays_the_programs_own(tmp_path: Path) -> None:
    agent = agent_for(tmp_path, "weather")
    agent.tool(name="weather")(lambda: "rain")
    agent.tool(name="weather", override=True)(lambda: "sun")
    assert agent.run("Go.").status == "completed"


class Deploy:
    """A tool that is no function, such as one of a server."""

    spec = ToolSpec(name="deploy", description="Deploy.", parameters={"type": "object"})

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        raise AssertionError(arguments)


def test_a_tool_that_is_no_function_asks(tmp_path: Path) -> None:
    agent = agent_for(tmp_path, "deploy")
    agent.register_tool(Deploy())
    assert agent.run("Go.").error_kind == "config_error"


def test_a_replacement_is_a_copy_and_the_tool_itself_stays_as_it_is() -> None:
    @tool
    def ls() -> str:
        """List."""
        return ""

    assert isinstance(ls, FunctionTool)
    assert (ls.spec.approval, ls.as_replacement().spec.approval) == ("pass", None)


def test_the_default_writes_the_workspace_and_runs_commands_in_the_sandbox(tmp_path: Path) -> None:
    answers = [
        calls("file_write", path="deliverables/a.md", content="x"),
        calls("shell_command", command="echo made > b.txt"),
        says("done"),
    ]
    result = Agent(workspace_root=tmp_path, backend=FakeModel(answers)).run("Go.")
    assert result.status == "completed"
    assert (tmp_path / "b.txt").read_text() == "made\n"


def test_without_a_sandbox_the_default_asks(tmp_path: Path) -> None:
    settings = {"sandbox": {"default_policy": "none"}}
    model = FakeModel([calls("shell_command", command="ls"), says("done")])
    result = Agent(workspace_root=tmp_path, backend=model, session_settings=settings).run("Go.")
    assert (result.status, result.error_kind) == ("failed", "config_error")
