"""Callables offered to the model: registry, typed arguments, built-ins."""

from skills_runtime.tools.arguments import Arguments, parse, schema_of
from skills_runtime.tools.defaults import builtin_tools
from skills_runtime.tools.function import FunctionTool, tool_from
from skills_runtime.tools.registry import Registry

__all__ = [
    "Arguments",
    "FunctionTool",
    "Registry",
    "builtin_tools",
    "parse",
    "schema_of",
    "tool_from",
]
