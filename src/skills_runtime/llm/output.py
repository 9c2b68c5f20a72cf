"""Structured output: the final answer as data that matches a schema."""

from collections.abc import Mapping
from typing import Any

import msgspec

from skills_runtime.errors import ConfigError

MAX_REJECTIONS = 2
"""How often the model may try again."""


def check_schema(schema: Mapping[str, Any]) -> None:
    """Raise unless this is a schema, before a run is paid for that could not end well."""
    import fastjsonschema

    try:
        fastjsonschema.compile(dict(schema))
    except (fastjsonschema.JsonSchemaDefinitionException, TypeError, AttributeError, ValueError) as error:
        raise ConfigError(f"`run.output_schema` is not a JSON schema: {error}", hint="correct it") from error


def problem_with(text: str, schema: Mapping[str, Any]) -> str | None:
    """Why this answer is not what was asked for, or nothing when it is."""
    import fastjsonschema

    try:
        data = msgspec.json.decode(text.encode())
    except (msgspec.MsgspecError, UnicodeEncodeError) as error:
        return f"it is not JSON: {error}"
    check_schema(schema)
    try:
        fastjsonschema.validate(dict(schema), data)
    except fastjsonschema.JsonSchemaValueException as error:
        return str(error.message)
    return None


def correction(problem: str) -> str:
    """What the model is told."""
    return f"That answer cannot be used: {problem}. Answer again with only the JSON that matches the schema."
