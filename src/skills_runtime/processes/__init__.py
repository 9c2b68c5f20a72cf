"""Run programs: one-shot execution and terminal sessions, each including every process it starts.

Knows nothing of policies: it takes a ready argument vector, a directory and an environment.
"""

from typing import TYPE_CHECKING

from skills_runtime.lazy import lazy_names
from skills_runtime.processes.capture import Captured
from skills_runtime.processes.claims import COMMAND, claim_workspace, hold_claim, is_claim_held
from skills_runtime.processes.command import Command, EndedBy, Finished, Limits, Stream, shell_command
from skills_runtime.processes.execute import OnOutput, build_command, execute, execute_plan, session_resources
from skills_runtime.processes.terminals import PtySession, Reading, Sessions, SessionStatus

if TYPE_CHECKING:
    from skills_runtime.processes.command import find_program
    from skills_runtime.processes.execute import ThrottledOutput
    from skills_runtime.processes.launcher import start_launcher
    from skills_runtime.processes.script_environments import (
        EnvironmentNeed,
        ScriptEnvironments,
        find_need,
        with_packages,
    )

__getattr__ = lazy_names(
    __name__,
    {
        "command": "find_program",
        "execute": "ThrottledOutput",
        "launcher": "start_launcher",
        "script_environments": "EnvironmentNeed ScriptEnvironments find_need with_packages",
    },
)

__all__ = [
    "COMMAND",
    "Captured",
    "Command",
    "EndedBy",
    "EnvironmentNeed",
    "Finished",
    "Limits",
    "OnOutput",
    "PtySession",
    "Reading",
    "ScriptEnvironments",
    "SessionStatus",
    "Sessions",
    "Stream",
    "ThrottledOutput",
    "build_command",
    "claim_workspace",
    "execute",
    "execute_plan",
    "find_need",
    "find_program",
    "hold_claim",
    "is_claim_held",
    "session_resources",
    "shell_command",
    "start_launcher",
    "with_packages",
]
