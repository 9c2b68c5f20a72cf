"""The tools a skill names, however it spells the list: with spaces, with commas, or as a list.

Pure.
"""

import re
from typing import Any, cast

_TOOL = re.compile(r"(?:[^\s,()]|\((?:[^()]|\([^()]*\))*+\)|[()])+")
"""A name and its patterns; spaces and commas in parentheses belong to the pattern."""


def allowed_tools(value: Any) -> tuple[str, ...]:
    """The tools that a field names, each once."""
    if isinstance(value, list):
        texts = [one.strip() for one in cast("list[Any]", value) if isinstance(one, str)]
        return tuple(dict.fromkeys(tool for text in texts for tool in _split(text)))
    return tuple(dict.fromkeys(_split(value))) if isinstance(value, str) else ()


def _split(text: str) -> list[str]:
    return _TOOL.findall(text)
