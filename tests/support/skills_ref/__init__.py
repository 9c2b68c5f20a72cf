"""The names of the public reference library, in front of our parser, so that its suite can judge it.

With `tests/support` on the path it is found as `skills_ref`.
"""

from .parser import ParseError, SkillError, SkillProperties, ValidationError, find_skill_md, read_properties
from .prompt import to_prompt
from .validator import validate

__all__ = [
    "ParseError",
    "SkillError",
    "SkillProperties",
    "ValidationError",
    "find_skill_md",
    "read_properties",
    "to_prompt",
    "validate",
]
