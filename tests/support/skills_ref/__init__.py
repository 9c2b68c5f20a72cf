"""The API of the public reference library, implemented with our parser, so that its test suite can check it.

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
