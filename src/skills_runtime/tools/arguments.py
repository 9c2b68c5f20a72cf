"""Typed arguments: a Struct is the schema the model sees and the check its arguments pass."""

from collections.abc import Mapping
from typing import Any, TypeVar, cast

import msgspec

from skills_runtime.errors import ToolError


class Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of a built-in tool; unknown names are refused."""


A = TypeVar("A", bound=Arguments)


def schema_of(arguments: type[Arguments]) -> dict[str, Any]:
    """The JSON schema of an argument Struct, self-contained: Structs inside it are written where they are used."""
    (schema,), components = msgspec.json.schema_components([arguments])
    whole = _inlined(schema, components)
    return {name: value for name, value in whole.items() if name in ("type", "properties", "required")} | {
        "additionalProperties": False
    }


def parse(arguments: Mapping[str, Any], into: type[A]) -> A:
    """The typed arguments, or an error the model can act on."""
    given = dict(arguments)
    try:
        msgspec.json.encode(given)
    except (TypeError, ValueError, OverflowError) as error:
        raise ToolError("validation", f"the arguments are not JSON: {error}") from error
    try:
        return msgspec.convert(given, into)
    except msgspec.ValidationError as error:
        raise ToolError("validation", str(error)) from error


def _inlined(schema: Any, components: Mapping[str, Any]) -> Any:
    """The schema with references replaced by what they name, and without the names of our classes."""
    if isinstance(schema, list):
        return [_inlined(item, components) for item in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    fields = dict(cast("dict[str, Any]", schema))
    if isinstance(fields.get("$ref"), str):
        named: dict[str, Any] = components[fields.pop("$ref").rpartition("/")[2]]
        fields = named | fields
    if isinstance(fields.get("title"), str):
        del fields["title"]
    return {name: _inlined(value, components) for name, value in fields.items()}
