"""The guard: what a call would do, read before it is done, and how bad that could be."""

from skills_runtime.safety.guard.assess import assess
from skills_runtime.safety.guard.facts import LEVELS, Facts, Level, Reading, Risk, SimpleCommand
from skills_runtime.safety.guard.names import program_name
from skills_runtime.safety.guard.reading import read_argv, read_line

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
