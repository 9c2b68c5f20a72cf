"""The Agent Skills standard: parse and validate `SKILL.md`, strictly or leniently."""

from skills_runtime.skills.standard.diagnostics import Diagnostic, Mode, Severity
from skills_runtime.skills.standard.directories import find_skill_file, read_properties, validate_directory
from skills_runtime.skills.standard.parse import Parsed, Properties, parse_skill
from skills_runtime.skills.standard.skill_yaml import parse_run
from skills_runtime.skills.standard.specification import allowed_tools

__all__ = [
    "Diagnostic",
    "Mode",
    "Parsed",
    "Properties",
    "Severity",
    "allowed_tools",
    "find_skill_file",
    "parse_run",
    "parse_skill",
    "read_properties",
    "validate_directory",
]
