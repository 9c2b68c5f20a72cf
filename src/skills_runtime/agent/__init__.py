"""The agent: Agent facade and builder, the loop, the prompt, sub-agents."""

from skills_runtime.agent.agent import Agent
from skills_runtime.agent.facades import AgentBuilder, ChildResult, Coordinator
from skills_runtime.agent.loop import run_segment
from skills_runtime.agent.options import ChildProfile, RunRequest
from skills_runtime.agent.result import RunResult

__all__ = [
    "Agent",
    "AgentBuilder",
    "ChildProfile",
    "ChildResult",
    "Coordinator",
    "RunRequest",
    "RunResult",
    "run_segment",
]
