"""Skills Runtime: run skills with an auditable log.

The names below are imported when they are first used, so that importing this package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skills_runtime.agent import Agent, AgentBuilder, ChildProfile, Coordinator, RunResult
    from skills_runtime.errors import SkillsRuntimeError
    from skills_runtime.events import Event
    from skills_runtime.ports import ApprovalRequest, Question, Tool, ToolContext, ToolResult, ToolSpec
    from skills_runtime.tools import tool

__version__ = "0.1.0"

_HOMES = {
    "Agent": "agent",
    "AgentBuilder": "agent",
    "ApprovalRequest": "ports",
    "ChildProfile": "agent",
    "Coordinator": "agent",
    "Event": "events",
    "Question": "ports",
    "RunResult": "agent",
    "SkillsRuntimeError": "errors",
    "Tool": "ports",
    "ToolContext": "ports",
    "ToolResult": "ports",
    "ToolSpec": "ports",
    "tool": "tools",
}

__all__ = [
    "Agent",
    "AgentBuilder",
    "ApprovalRequest",
    "ChildProfile",
    "Coordinator",
    "Event",
    "Question",
    "RunResult",
    "SkillsRuntimeError",
    "Tool",
    "ToolContext",
    "ToolResult",
    "ToolSpec",
    "tool",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
