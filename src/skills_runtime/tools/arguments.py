"""Typed arguments: a Struct is the schema the model sees and the check its arguments pass."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from skills_runtime.errors import ToolError


class Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of a built-in tool; unknown names are refused."""


A = TypeVar("A", bound=Arguments)


def schema_of(arguments: type[Arguments]) -> dict[str, Any]:
    """The JSON schema of an argument Struct, self-contained."""
    (schema,), components = msgspec.json.schema_components([arguments])
    (schema,) = components.values() if "$ref" in schema else (schema,)
    return {name: value for name, value in schema.items() if name in ("type", "properties", "required")} | {
        "additionalProperties": False
    }


def parse(arguments: Mapping[str, Any], into: type[A]) -> A:
    """The typed arguments, or an error the model can act on."""
    try:
        return msgspec.convert(dict(arguments), into)
    except msgspec.ValidationError as error:
        raise ToolError("validation", str(error)) from error
