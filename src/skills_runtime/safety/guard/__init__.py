"""The guard: what a call would do, read before it is done, and how bad that could be."""

from skills_runtime.safety.guard.assess import assess, read_argv, read_line
from skills_runtime.safety.guard.facts import LEVELS, Facts, Level, Reading, Risk, SimpleCommand
from skills_runtime.safety.guard.known_programs import program_name

__all__ = [
    "LEVELS",
    "Facts",
    "Level",
    "Reading",
    "Risk",
    "SimpleCommand",
    "assess",
    "program_name",
    "read_argv",
    "read_line",
]
