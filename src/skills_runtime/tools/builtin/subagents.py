"""The tools for sub-agents: spawn_agent, wait, send_input, close_agent, resume_agent."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from skills_runtime.errors import ToolError
from skills_runtime.ports import Children, ChildStatus, ToolContext, ToolResult, ToolSpec
from skills_runtime.tools.arguments import Arguments, build_schema, parse


def require_children(context: ToolContext) -> Children:
    """Return the sub-agents of the run, or refuse when it may have none."""
    if context.children is None:
        raise ToolError("permission", "this run may not begin other runs")
    return context.children


def _status_result(status: ChildStatus) -> ToolResult:
    return ToolResult(ok=True, stdout=f"{status.id}: {status.status}", data=msgspec.to_builtins(status))


class SpawnAgentArguments(Arguments, frozen=True):
    """What spawn_agent takes."""

    message: Annotated[str, Meta(description="The task, with everything the sub-agent has to know.", min_length=1)]
    agent_type: Annotated[str, Meta(description="Which kind of sub-agent, where there are several.")] = ""


class SpawnAgent:
    """Begins a sub-agent for a part of the work and returns at once."""

    spec = ToolSpec(
        name="spawn_agent",
        description="Begin a sub-agent that works on a part of the task beside you. `wait` gives its result.",
        parameters=build_schema(SpawnAgentArguments),
        effect="idempotent",
        example={"message": "do a part"},
    )

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Begin it; a call that is repeated after a crash finds the run it began."""
        args = parse(arguments, SpawnAgentArguments)
        children = require_children(context)
        return _status_result(await children.spawn(args.message, call_id=context.call_id, agent_type=args.agent_type))


class WaitArguments(Arguments, frozen=True):
    """What wait takes."""

    ids: Annotated[list[str], Meta(description="The sub-agents.", min_length=1, max_length=64)]
    timeout_ms: Annotated[int, Meta(description="How long to wait at most.", ge=0)] | None = None


class Wait:
    """Waits until sub-agents have ended."""

    spec = ToolSpec(
        name="wait",
        description="Wait until sub-agents have ended, and get their final outputs.",
        parameters=build_schema(WaitArguments),
        effect="read",
        example={"ids": ["child_1"]},
    )

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Wait for them."""
        args = parse(arguments, WaitArguments)
        statuses = await require_children(context).wait(args.ids, timeout_ms=args.timeout_ms)
        lines = "\n".join(f"{status.id}: {status.status}" for status in statuses)
        return ToolResult(ok=True, stdout=lines, data={"results": [msgspec.to_builtins(status) for status in statuses]})


class SendInputArguments(Arguments, frozen=True):
    """What send_input takes."""

    id: Annotated[str, Meta(description="The sub-agent.")]
    message: Annotated[str, Meta(description="What it should know.", min_length=1)]
    interrupt: Annotated[bool, Meta(description="Read at the next turn either way.")] = False


class SendInput:
    """Sends a message to a sub-agent while it works."""

    spec = ToolSpec(
        name="send_input",
        description="Tell a sub-agent something; it reads it at its next turn.",
        parameters=build_schema(SendInputArguments),
        example={"id": "child_1", "message": "hurry"},
    )

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Send it."""
        args = parse(arguments, SendInputArguments)
        return _status_result(await require_children(context).send(args.id, args.message))


class AgentArguments(Arguments, frozen=True):
    """What close_agent and resume_agent take."""

    id: Annotated[str, Meta(description="The sub-agent.")]


class CloseAgent:
    """Stops a sub-agent for good."""

    spec = ToolSpec(
        name="close_agent",
        description="Stop a sub-agent that is not needed any more.",
        parameters=build_schema(AgentArguments),
        effect="idempotent",
        example={"id": "child_1"},
    )

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Stop it."""
        return _status_result(await require_children(context).close(parse(arguments, AgentArguments).id))


class ResumeAgent:
    """Starts the work on a sub-agent again that stopped before its end."""

    spec = ToolSpec(
        name="resume_agent",
        description="Go on with a sub-agent that stopped, or ask where one stands.",
        parameters=build_schema(AgentArguments),
        effect="idempotent",
        example={"id": "child_1"},
    )

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Go on with it."""
        return _status_result(await require_children(context).resume(parse(arguments, AgentArguments).id))
