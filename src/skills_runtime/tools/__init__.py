"""Callables offered to the model: registry, typed arguments, built-ins."""

from typing import TYPE_CHECKING

from skills_runtime.ports import Tool, ToolContext, ToolResult, ToolSpec
from skills_runtime.tools.arguments import Arguments, parse, schema_of
from skills_runtime.tools.function import FunctionTool, tool, tool_from
from skills_runtime.tools.registry import Registry

if TYPE_CHECKING:
    from skills_runtime.tools.builtin import SearchProvider

__all__ = [
    "Arguments",
    "FunctionTool",
    "Registry",
    "Tool",
    "ToolContext",
    "ToolResult",
    "ToolSpec",
    "builtin_tools",
    "parse",
    "schema_of",
    "tool",
    "tool_from",
]


def builtin_tools(search: "SearchProvider | None" = None) -> Registry:
    """Return a new registry with every built-in tool; `search` is what web_search asks."""
    from skills_runtime.tools.builtin import all_tools  # loads the process tools, which only an agent at work needs

    return Registry(*all_tools(search))
