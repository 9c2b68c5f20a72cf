"""What the loop needs besides the run itself, as one frozen value."""

import msgspec

from skills_runtime.ports import Approver, Backend, Files
from skills_runtime.safety import SafetyMode
from skills_runtime.tools import Registry


class AgentPorts(msgspec.Struct, frozen=True, kw_only=True):
    """The model, the tools, the gate and the limits of one run."""

    backend: Backend
    tools: Registry
    files: Files
    system_prompt: str
    planner_model: str
    """Answers the first turn."""
    executor_model: str
    """Answers the rest."""
    safety_mode: SafetyMode = "ask"
    tool_allowlist: tuple[str, ...] = ()
    tool_denylist: tuple[str, ...] = ()
    approver: Approver | None = None
    approval_timeout_ms: int | None = None
    max_steps: int = 40
    max_wall_time_sec: float | None = None
