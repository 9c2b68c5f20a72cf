"""Callables offered to the model: registry, typed arguments, built-ins."""

from skills_runtime.ports import Tool, ToolContext, ToolResult, ToolSpec
from skills_runtime.tools.arguments import Arguments, parse, schema_of
from skills_runtime.tools.function import FunctionTool, tool, tool_from
from skills_runtime.tools.registry import Registry, builtin_tools

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
