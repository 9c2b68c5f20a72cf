"""Typed arguments: a Struct gives both the schema for the model and the validation of a call."""

from collections.abc import Mapping
from typing import Any, TypeVar, cast

import msgspec
import msgspec.inspect

from skills_runtime.errors import ToolError


class Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of a built-in tool; unknown names are refused."""


A = TypeVar("A", bound=Arguments)


def build_schema(arguments: type[Arguments]) -> dict[str, Any]:
    """Build the JSON schema of an argument Struct, with nested Structs written inline."""
    (schema,), components = msgspec.json.schema_components([arguments])
    inlined = _inline_references(schema, components)
    return {name: value for name, value in inlined.items() if name in ("type", "properties", "required")} | {
        "additionalProperties": False
    }


def parse(arguments: Mapping[str, Any], into: type[A]) -> A:
    """Convert arguments to the Struct `into`, or raise an error that the model can act on."""
    values = dict(arguments)
    try:
        msgspec.json.encode(values)
    except (TypeError, ValueError, OverflowError) as error:
        raise ToolError("validation", f"the arguments are not JSON: {error}") from error
    try:
        return msgspec.convert(values, into)
    except msgspec.ValidationError:
        pass  # most arguments fit as they are; only the others are normalized
    try:
        return msgspec.convert(_normalize(values, msgspec.inspect.type_info(into)), into)
    except msgspec.ValidationError as error:
        raise ToolError("validation", str(error)) from error


def _normalize(value: Any, kind: "msgspec.inspect.Type") -> Any:
    """Drop nulls for optional fields and turn whole floats into integers: `5.0` is an integer in JSON."""
    match kind, value:
        case msgspec.inspect.Metadata(type=inner), _:
            return _normalize(value, inner)
        case msgspec.inspect.StructType(fields=fields), dict():
            fields_by_name = {field.encode_name: field for field in fields}
            return {
                name: _normalize(element, fields_by_name[name].type) if name in fields_by_name else element
                for name, element in cast("dict[str, Any]", value).items()
                if element is not None or name not in fields_by_name or fields_by_name[name].required
            }
        case msgspec.inspect.ListType(item_type=item), list():
            return [_normalize(element, item) for element in cast("list[Any]", value)]
        case msgspec.inspect.UnionType(types=types), _:
            return next(
                (normalized for member in types if (normalized := _normalize(value, member)) is not value), value
            )
        case msgspec.inspect.IntType(), float() if value.is_integer():
            return int(value)
        case _:
            return value


def _inline_references(schema: Any, components: Mapping[str, Any]) -> Any:
    """Replace references by the schemas they name, and drop the titles, which are our class names."""
    if isinstance(schema, list):
        return [_inline_references(item, components) for item in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    fields = dict(cast("dict[str, Any]", schema))
    if isinstance(fields.get("$ref"), str):
        component: dict[str, Any] = components[fields.pop("$ref").rpartition("/")[2]]
        fields = component | fields
    if isinstance(fields.get("title"), str):
        del fields["title"]
    return {name: _inline_references(value, components) for name, value in fields.items()}
