"""The errors of the reference library."""


class SkillError(Exception):
    """A skill is invalid."""


class ParseError(SkillError):
    """A file cannot be read as a skill."""


class ValidationError(SkillError):
    """A field is missing or wrong."""
