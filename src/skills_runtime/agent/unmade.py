"""What a model is told of calls that were not made, or of which nobody knows what came."""

from skills_runtime.ports import ToolResult
from skills_runtime.tools.invoke import refused

UNKNOWN = refused("unknown", "outcome unknown: the runtime stopped while this call was under way")
GAVE_UP = refused("unknown", "outcome unknown: the call cancelled itself")


def no_such_tool(name: str) -> ToolResult:
    """The result of calling a tool that the run does not have."""
    return refused("not_found", f"there is no tool named `{name}`")


def not_found_out(words: str) -> str:
    """What is said of a call whose tool was to find out what came of it, and could not."""
    return f"{UNKNOWN.stderr}, and finding out failed: {words}"
