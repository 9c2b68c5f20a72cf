"""resume_agent: go on with a sub-agent that stopped before its end."""

from collections.abc import Mapping
from typing import Any

from skills_runtime.ports import ToolContext, ToolResult, ToolSpec
from skills_runtime.tools.arguments import parse, schema_of
from skills_runtime.tools.builtin.close_agent import AgentArguments
from skills_runtime.tools.subagents import children_of, told


class ResumeAgent:
    """Starts the work on a sub-agent again."""

    spec = ToolSpec(
        name="resume_agent",
        description="Go on with a sub-agent that stopped, or ask where one stands.",
        parameters=schema_of(AgentArguments),
        effect="idempotent",
        example={"id": "child_1"},
    )

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Go on with it."""
        return told(await children_of(context).resume(parse(arguments, AgentArguments).id))
