"""The errors of the reference library."""


class SkillError(Exception):
    """Something is wrong with a skill."""


class ParseError(SkillError):
    """A file cannot be read as a skill."""


class ValidationError(SkillError):
    """A field is missing or wrong."""
