"""Analyze what a call would do before it runs, and assess its risk."""

from typing import TYPE_CHECKING

from skills_runtime.lazy import lazy_names
from skills_runtime.safety.guard.assess import assess, read_argv, read_line
from skills_runtime.safety.guard.facts import LEVELS, Facts, Level, Reading, Risk, SimpleCommand
from skills_runtime.safety.guard.known_programs import program_name

if TYPE_CHECKING:
    from skills_runtime.safety.guard.programs.interpreters import LANGUAGES
    from skills_runtime.safety.guard.programs.shells import SHELLS

__getattr__ = lazy_names(
    __name__,
    {
        "programs.interpreters": "LANGUAGES",
        "programs.shells": "SHELLS",
    },
)

__all__ = [
    "LANGUAGES",
    "LEVELS",
    "SHELLS",
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
