"""The agent: `Agent`, its builder and coordinator, the loop, the prompt and sub-agents."""

from typing import TYPE_CHECKING

from skills_runtime.agent.agent import Agent
from skills_runtime.agent.facades import AgentBuilder, ChildResult, Coordinator
from skills_runtime.agent.loop import run_segment
from skills_runtime.agent.options import ChildProfile, RunRequest
from skills_runtime.agent.result import RunResult
from skills_runtime.lazy import lazy_names

if TYPE_CHECKING:
    from skills_runtime.agent.options import AgentOptions
    from skills_runtime.agent.result import result_status
    from skills_runtime.agent.run_defaults import (
        backend_for,
        budget_of,
        configured_endpoint,
        describe_models,
        prices_of,
        read_recording,
        replay_backend,
    )
    from skills_runtime.agent.run_inputs import run_spec
    from skills_runtime.agent.run_ports import LazySandbox, contains_commands, log_ports, previewable_tools
    from skills_runtime.agent.subagents.children import finish_tree

__getattr__ = lazy_names(
    __name__,
    {
        "options": "AgentOptions",
        "result": "result_status",
        "run_defaults": (
            "backend_for budget_of configured_endpoint describe_models prices_of read_recording replay_backend"
        ),
        "run_inputs": "run_spec",
        "run_ports": "LazySandbox contains_commands log_ports previewable_tools",
        "subagents.children": "finish_tree",
    },
)

__all__ = [
    "Agent",
    "AgentBuilder",
    "AgentOptions",
    "ChildProfile",
    "ChildResult",
    "Coordinator",
    "LazySandbox",
    "RunRequest",
    "RunResult",
    "backend_for",
    "budget_of",
    "configured_endpoint",
    "contains_commands",
    "describe_models",
    "finish_tree",
    "log_ports",
    "previewable_tools",
    "prices_of",
    "read_recording",
    "replay_backend",
    "result_status",
    "run_segment",
    "run_spec",
]
