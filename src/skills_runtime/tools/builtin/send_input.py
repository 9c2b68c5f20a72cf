"""send_input: tell a sub-agent something while it works."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from skills_runtime.ports import ToolContext, ToolResult, ToolSpec
from skills_runtime.tools.arguments import Arguments, parse, schema_of
from skills_runtime.tools.subagents import children_of, told


class SendInputArguments(Arguments, frozen=True):
    """What send_input takes."""

    id: Annotated[str, Meta(description="The sub-agent.")]
    message: Annotated[str, Meta(description="What it should know.", min_length=1)]
    interrupt: Annotated[bool, Meta(description="Read at the next turn either way.")] = False


class SendInput:
    """Sends a message to a sub-agent."""

    spec = ToolSpec(
        name="send_input",
        description="Tell a sub-agent something; it reads it at its next turn.",
        parameters=schema_of(SendInputArguments),
        example={"id": "child_1", "message": "hurry"},
    )

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Send it."""
        wanted = parse(arguments, SendInputArguments)
        return told(await children_of(context).send(wanted.id, wanted.message))
