"""close_agent: stop a sub-agent."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from skills_runtime.ports import ToolContext, ToolResult, ToolSpec
from skills_runtime.tools.arguments import Arguments, parse, schema_of
from skills_runtime.tools.subagents import children_of, told


class AgentArguments(Arguments, frozen=True):
    """What close_agent and resume_agent take."""

    id: Annotated[str, Meta(description="The sub-agent.")]


class CloseAgent:
    """Stops a sub-agent for good."""

    spec = ToolSpec(
        name="close_agent",
        description="Stop a sub-agent that is not needed any more.",
        parameters=schema_of(AgentArguments),
        effect="idempotent",
        example={"id": "child_1"},
    )

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Stop it."""
        return told(await children_of(context).close(parse(arguments, AgentArguments).id))
