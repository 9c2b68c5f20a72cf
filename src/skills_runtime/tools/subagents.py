"""What the tools for sub-agents share."""

from collections.abc import Iterable

import msgspec

from skills_runtime.errors import ToolError
from skills_runtime.ports import Children, ChildStatus, ToolContext, ToolResult


def children_of(context: ToolContext) -> Children:
    """The sub-agents of the run, or a refusal when it may have none."""
    if context.children is None:
        raise ToolError("permission", "this run may not begin other runs")
    return context.children


def told(status: ChildStatus) -> ToolResult:
    """Where one sub-agent stands, as a result."""
    return ToolResult(ok=True, stdout=f"{status.id}: {status.status}", data=msgspec.to_builtins(status))


def all_told(statuses: Iterable[ChildStatus]) -> ToolResult:
    """Where several sub-agents stand, as one result."""
    each = list(statuses)
    lines = "\n".join(f"{one.id}: {one.status}" for one in each)
    return ToolResult(ok=True, stdout=lines, data={"results": [msgspec.to_builtins(one) for one in each]})
