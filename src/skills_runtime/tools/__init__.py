"""Tools that the model can call: the registry, typed arguments and the built-in tools."""

from typing import TYPE_CHECKING

from skills_runtime.lazy import lazy_names
from skills_runtime.ports import Tool, ToolContext, ToolResult, ToolSpec
from skills_runtime.tools.arguments import Arguments, build_schema, parse
from skills_runtime.tools.function import FunctionTool, Offer, tool, tool_from
from skills_runtime.tools.invoke import capture_errors, describe_error, error_result, failure_result, invoke
from skills_runtime.tools.registry import Registry

if TYPE_CHECKING:
    from skills_runtime.tools.builtin import SearchProvider
    from skills_runtime.tools.exec_sessions import BorrowedSessions, ExecSessions, RunSessions
    from skills_runtime.tools.images import recognize_image
    from skills_runtime.tools.processes import (
        DEFAULT_TIMEOUT_MS,
        DIED_OF_SIGNAL,
        MAX_TIMEOUT_MS,
        CommandNetwork,
        RequestedCommand,
        explain_denials,
        process_facts,
    )

__getattr__ = lazy_names(
    __name__,
    {
        "exec_sessions": "BorrowedSessions ExecSessions RunSessions",
        "images": "recognize_image",
        "processes": (
            "CommandNetwork DEFAULT_TIMEOUT_MS DIED_OF_SIGNAL MAX_TIMEOUT_MS RequestedCommand "
            "explain_denials process_facts"
        ),
    },
)

__all__ = [
    "DEFAULT_TIMEOUT_MS",
    "DIED_OF_SIGNAL",
    "MAX_TIMEOUT_MS",
    "Arguments",
    "BorrowedSessions",
    "CommandNetwork",
    "ExecSessions",
    "FunctionTool",
    "Offer",
    "Registry",
    "RequestedCommand",
    "RunSessions",
    "Tool",
    "ToolContext",
    "ToolResult",
    "ToolSpec",
    "build_schema",
    "builtin_tools",
    "capture_errors",
    "describe_error",
    "error_result",
    "explain_denials",
    "failure_result",
    "invoke",
    "parse",
    "process_facts",
    "recognize_image",
    "tool",
    "tool_from",
]


def builtin_tools(search: "SearchProvider | None" = None) -> Registry:
    """Return a new registry with every built-in tool; `search` is the provider of web_search."""
    # Loads the process tools, which only an agent at work needs.
    from skills_runtime.tools.builtin import all_tools

    return Registry(*all_tools(search))
