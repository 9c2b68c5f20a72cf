"""Fills the variables of a text, all in one pass, so that nothing filled in is ever filled again.

Pure.
"""

import re
from collections.abc import Mapping

VARIABLES = ("task", "cwd", "tools", "skills", "constraints")

_VARIABLE = re.compile(r"\{\{(" + "|".join(VARIABLES) + r")\}\}")


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text with its variables replaced; whatever else is in braces stays as it is."""
    return _VARIABLE.sub(lambda match: values[match[1]], text)


def uses(text: str, variable: str) -> bool:
    """Whether the text has a place for a variable."""
    return variable in _VARIABLE.findall(text)
