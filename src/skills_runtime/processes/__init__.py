"""Programs outside this process: one-shot execution and sessions on a terminal, each with everything it started.

Knows nothing of policies: it takes a ready argument vector, a directory and an environment.
"""

from skills_runtime.processes.capture import Captured
from skills_runtime.processes.command import Command, EndedBy, Finished, Limits, Stream, shell_command
from skills_runtime.processes.execute import OnOutput, beginning, command_of, execute, execute_plan
from skills_runtime.processes.terminals import PtySession, Reading, Sessions, SessionStatus

__all__ = [
    "Captured",
    "Command",
    "EndedBy",
    "Finished",
    "Limits",
    "OnOutput",
    "PtySession",
    "Reading",
    "SessionStatus",
    "Sessions",
    "Stream",
    "beginning",
    "command_of",
    "execute",
    "execute_plan",
    "shell_command",
]
