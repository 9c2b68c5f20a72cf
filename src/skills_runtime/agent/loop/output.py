"""Structured output: the final answer as JSON that matches a schema."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import msgspec

from skills_runtime.errors import ConfigError
from skills_runtime.events import build_decoder

MAX_REJECTIONS = 2
"""How often the model may correct its answer."""
MAX_SCHEMA_CHARS = 20_000
"""Longest schema that is included in a prompt."""

_read = build_decoder(object)


def check_schema(schema: Mapping[str, Any]) -> None:
    """Raise `ConfigError` if this is not a valid JSON schema, before the run costs anything."""
    _compile_check(schema)


def find_problem(text: str, schema: Mapping[str, Any]) -> str | None:
    """Return why this answer does not match the schema, or `None` if it does."""
    import fastjsonschema

    try:
        data = _read(text.encode())
    except (msgspec.MsgspecError, UnicodeEncodeError) as error:
        return f"it is not JSON: {error}"
    check = _compile_check(schema)
    try:
        check(data)
    except fastjsonschema.JsonSchemaValueException as error:
        return str(error.message)
    except RecursionError:
        return "it is nested too deeply"
    return None


def is_strict(schema: Mapping[str, Any]) -> bool:
    """Return whether providers can enforce the schema: they refuse objects with additional or optional fields."""
    return schema.get("type") == "object" and all(
        part.get("additionalProperties") is False
        and sorted(part.get("properties", {})) == sorted(part.get("required", []))
        for part in _objects(schema)
    )


def _objects(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every part of a schema that describes an object."""
    if isinstance(schema, dict):
        part = cast("dict[str, Any]", schema)
        if part.get("type") == "object" or "properties" in part:
            yield part
        schema = list(part.values())
    if isinstance(schema, list):
        for item in cast("list[Any]", schema):
            yield from _objects(item)


def schema_instruction(schema: Mapping[str, Any] | None) -> str:
    """Return the prompt text about the output schema: not every provider passes it on or enforces it."""
    text = msgspec.json.encode(schema).decode() if schema is not None else ""
    if not text or len(text) > MAX_SCHEMA_CHARS:
        return ""
    return f"Your last answer, the one without a tool call, must be JSON alone that matches this schema: {text}"


def correction_message(problem: str) -> str:
    """Return the message that asks the model for a corrected answer."""
    return f"That answer cannot be used: {problem}. Answer again with only the JSON that matches the schema."


def _compile_check(schema: Mapping[str, Any]) -> Callable[[Any], object]:
    """Return a function that raises if data does not match the schema."""
    import fastjsonschema

    try:
        return fastjsonschema.compile(dict(schema), handlers=_NoRemoteSchemas())
    except (
        fastjsonschema.JsonSchemaDefinitionException, TypeError, AttributeError, ValueError, RecursionError, re.error
    ) as error:  # fmt: skip
        raise ConfigError(f"`run.output_schema` is not a JSON schema: {error}", hint="correct it") from error


class _NoRemoteSchemas(dict[str, Callable[[str], Any]]):
    """Handlers that refuse to fetch any remote schema."""

    def __contains__(self, scheme: object) -> bool:
        return True

    def __getitem__(self, scheme: str) -> Callable[[str], Any]:
        return _refuse_remote


def _refuse_remote(location: str) -> Any:
    raise ValueError(f"`{location}` is a remote schema, and references must stay inside the schema")
