"""The loop: one segment of work on a run, from the log to the log."""

from skills_runtime.agent.loop.control import Control
from skills_runtime.agent.loop.ports import AgentPorts, RunScope
from skills_runtime.agent.loop.segment import run_segment

__all__ = ["AgentPorts", "Control", "RunScope", "run_segment"]
