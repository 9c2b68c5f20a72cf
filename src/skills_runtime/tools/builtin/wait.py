"""wait: the results of sub-agents."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from skills_runtime.ports import ToolContext, ToolResult, ToolSpec
from skills_runtime.tools.arguments import Arguments, parse, schema_of
from skills_runtime.tools.subagents import all_told, children_of


class WaitArguments(Arguments, frozen=True):
    """What wait takes."""

    ids: Annotated[list[str], Meta(description="The sub-agents.", min_length=1, max_length=64)]
    timeout_ms: Annotated[int, Meta(description="How long to wait at most.", ge=0)] | None = None


class Wait:
    """Waits until sub-agents have ended."""

    spec = ToolSpec(
        name="wait",
        description="Wait until sub-agents have ended, and get their final outputs.",
        parameters=schema_of(WaitArguments),
        effect="read",
        example={"ids": ["child_1"]},
    )

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Wait for them."""
        wanted = parse(arguments, WaitArguments)
        return all_told(await children_of(context).wait(wanted.ids, timeout_ms=wanted.timeout_ms))
