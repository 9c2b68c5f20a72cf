"""The agent: facade, loop, prompt."""

from skills_runtime.agent.assemble import RunRequest
from skills_runtime.agent.facade import Agent
from skills_runtime.agent.loop import run_segment
from skills_runtime.agent.outcome import RunResult

__all__ = ["Agent", "RunRequest", "RunResult", "run_segment"]
