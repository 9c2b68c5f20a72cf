"""The loop: one segment of work on a run, driven by the log."""

from skills_runtime.agent.loop.budget import Budget
from skills_runtime.agent.loop.calls import missing_tool_result
from skills_runtime.agent.loop.control import Control
from skills_runtime.agent.loop.inbox import open_inbox
from skills_runtime.agent.loop.ports import AgentPorts, RunScope
from skills_runtime.agent.loop.segment import interruption_event, run_segment

__all__ = [
    "AgentPorts",
    "Budget",
    "Control",
    "RunScope",
    "interruption_event",
    "missing_tool_result",
    "open_inbox",
    "run_segment",
]
