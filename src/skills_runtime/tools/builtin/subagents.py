"""Tools for sub-agents: spawn_agent, wait, send_input, close_agent, resume_agent."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from skills_runtime.errors import ToolError
from skills_runtime.ports import Children, ChildStatus, ToolContext, ToolResult, ToolSpec
from skills_runtime.tools.arguments import Arguments, build_schema, parse


def require_children(context: ToolContext) -> Children:
    """Return the sub-agents of the run, or raise if it may have none."""
    if context.children is None:
        raise ToolError("permission", "this run may not start sub-agents")
    return context.children


def _status_result(status: ChildStatus) -> ToolResult:
    return ToolResult(ok=True, stdout=f"{status.id}: {status.status}", data=msgspec.to_builtins(status))


class SpawnAgentArguments(Arguments, frozen=True):
    """Arguments of spawn_agent."""

    message: Annotated[str, Meta(description="The task, with everything the sub-agent needs to know.", min_length=1)]
    agent_type: Annotated[str, Meta(description="The kind of sub-agent, if there are several.")] = ""


class SpawnAgent:
    """Starts a sub-agent and returns at once."""

    spec = ToolSpec(
        name="spawn_agent",
        description="Start a sub-agent that works on a part of the task in parallel. `wait` returns its result.",
        parameters=build_schema(SpawnAgentArguments),
        effect="idempotent",
        contained=True,
        example={"message": "do a part"},
    )

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Start the sub-agent; a call repeated after a crash finds the run it started."""
        args = parse(arguments, SpawnAgentArguments)
        children = require_children(context)
        return _status_result(await children.spawn(args.message, call_id=context.call_id, agent_type=args.agent_type))


class WaitArguments(Arguments, frozen=True):
    """Arguments of wait."""

    ids: Annotated[list[str], Meta(description="The sub-agents.", min_length=1, max_length=64)]
    timeout_ms: Annotated[int, Meta(description="Maximum time to wait.", ge=0)] | None = None


class Wait:
    """Waits until sub-agents have finished."""

    spec = ToolSpec(
        name="wait",
        description="Wait until sub-agents have finished, and return their final outputs.",
        parameters=build_schema(WaitArguments),
        effect="read",
        example={"ids": ["child_1"]},
    )

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Wait for the sub-agents and return their outputs."""
        args = parse(arguments, WaitArguments)
        statuses = await require_children(context).wait(args.ids, timeout_ms=args.timeout_ms)
        lines = "\n".join(f"{status.id}: {status.status}" for status in statuses)
        return ToolResult(ok=True, stdout=lines, data={"results": [msgspec.to_builtins(status) for status in statuses]})


class SendInputArguments(Arguments, frozen=True):
    """Arguments of send_input."""

    id: Annotated[str, Meta(description="The sub-agent.")]
    message: Annotated[str, Meta(description="The message.", min_length=1)]
    interrupt: Annotated[bool, Meta(description="No effect: the message is read at the next turn either way.")] = False


class SendInput:
    """Sends a message to a working sub-agent."""

    spec = ToolSpec(
        name="send_input",
        description="Send a message to a sub-agent, which reads it at its next turn.",
        parameters=build_schema(SendInputArguments),
        contained=True,
        example={"id": "child_1", "message": "hurry"},
    )

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Send the message."""
        args = parse(arguments, SendInputArguments)
        return _status_result(await require_children(context).send(args.id, args.message))


class AgentArguments(Arguments, frozen=True):
    """Arguments of close_agent and resume_agent."""

    id: Annotated[str, Meta(description="The sub-agent.")]


class CloseAgent:
    """Stops a sub-agent for good."""

    spec = ToolSpec(
        name="close_agent",
        description="Stop a sub-agent that is no longer needed.",
        parameters=build_schema(AgentArguments),
        effect="idempotent",
        contained=True,
        example={"id": "child_1"},
    )

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Stop the sub-agent."""
        return _status_result(await require_children(context).close(parse(arguments, AgentArguments).id))


class ResumeAgent:
    """Resumes a sub-agent that stopped early."""

    spec = ToolSpec(
        name="resume_agent",
        description="Resume a sub-agent that stopped, or get the status of one.",
        parameters=build_schema(AgentArguments),
        effect="idempotent",
        contained=True,
        example={"id": "child_1"},
    )

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Resume the sub-agent."""
        return _status_result(await require_children(context).resume(parse(arguments, AgentArguments).id))
