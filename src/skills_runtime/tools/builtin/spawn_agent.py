"""spawn_agent: begin a run of its own for a part of the work."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from skills_runtime.ports import ToolContext, ToolResult, ToolSpec
from skills_runtime.tools.arguments import Arguments, parse, schema_of
from skills_runtime.tools.subagents import children_of, told


class SpawnAgentArguments(Arguments, frozen=True):
    """What spawn_agent takes."""

    message: Annotated[str, Meta(description="The task, with everything the sub-agent has to know.", min_length=1)]
    agent_type: Annotated[str, Meta(description="Which kind of sub-agent, where there are several.")] = ""


class SpawnAgent:
    """Begins a sub-agent and returns at once."""

    spec = ToolSpec(
        name="spawn_agent",
        description="Begin a sub-agent that works on a part of the task beside you. `wait` gives its result.",
        parameters=schema_of(SpawnAgentArguments),
        effect="idempotent",
        example={"message": "do a part"},
    )

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Begin it; a call that is repeated after a crash finds the run it began."""
        wanted = parse(arguments, SpawnAgentArguments)
        family = children_of(context)
        return told(await family.spawn(wanted.message, call_id=context.call_id, agent_type=wanted.agent_type))
