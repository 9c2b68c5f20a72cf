"""The fields that a skill of every source must have, and the variables that a skill asks for.

Pure, and no bytes make it raise: what is wrong comes back as a problem.
"""

import re
from collections.abc import Mapping
from typing import Any, cast

import msgspec

from skills_runtime.skills.mentions import is_name
from skills_runtime.skills.plain_yaml import Unusable, parse_mapping
from skills_runtime.skills.problems import Problem
from skills_runtime.text import one_line

_VARIABLE = re.compile("[A-Za-z_][A-Za-z0-9_]{0,255}")
_SHOWN_CHARS = 80


class FrontMatter(msgspec.Struct, frozen=True):
    """What a skill says of itself."""

    name: str
    description: str
    metadata: Mapping[str, Any]


def checked(name: Any, description: Any, metadata: Mapping[str, Any]) -> FrontMatter | Problem:
    """The fields every skill must have, in the form they are used in."""
    if not isinstance(name, str) or not name:
        return invalid("it has no `name`", hint="give it one in its front matter")
    if not is_name(name):
        rule = "use 2 to 64 small letters, digits, `-` and `_`, with a letter or digit at both ends"
        return invalid(f"{name[:_SHOWN_CHARS]!a} is not a name for a skill", hint=rule)
    described = one_line(description) if isinstance(description, str) else ""
    if not described:
        return invalid("it has no `description`", hint="say in one sentence what it does and when to use it")
    return FrontMatter(name, described, dict(metadata))


def invalid(why: str, *, hint: str) -> Problem:
    """The problem with what a skill says of itself."""
    return Problem(code="SKILL_SCAN_METADATA_INVALID", message=f"the skill cannot be used: {why}", hint=hint)


def required_variables(data: bytes) -> tuple[str, ...] | Problem:
    """The environment variables that the `agents/openai.yaml` of a skill asks for."""
    try:
        dependencies = parse_mapping(data).get("dependencies")
    except Unusable as error:
        return invalid(f"its `agents/openai.yaml` is not usable YAML: {error}", hint="correct that file")
    tools = cast("dict[str, Any]", dependencies).get("tools") if isinstance(dependencies, dict) else None
    rows = cast("list[Any]", tools) if isinstance(tools, list) else []
    named = [cast("dict[str, Any]", row) for row in rows if isinstance(row, dict)]
    values = [row.get("value") for row in named if row.get("type") == "env_var"]
    return tuple(dict.fromkeys(value for value in values if isinstance(value, str) and is_variable(value)))


def is_variable(text: str) -> bool:
    """Whether the text may name an environment variable."""
    return _VARIABLE.fullmatch(text) is not None
