"""Arguments inside arguments, and text that cannot be written."""

from typing import Annotated, Any

import pytest
from msgspec import Meta

from skills_runtime.errors import ToolError
from skills_runtime.tools import Arguments, parse, schema_of


class Inner(Arguments, frozen=True):
    """What is inside."""

    title: Annotated[str, Meta(description="A name that is also a keyword.")]
    level: int = 1


class Outer(Arguments, frozen=True):
    """What is outside."""

    items: list[Inner]
    one: Inner | None = None


INNER = {
    "description": "What is inside.",
    "type": "object",
    "properties": {
        "title": {"type": "string", "description": "A name that is also a keyword."},
        "level": {"type": "integer", "default": 1},
    },
    "required": ["title"],
    "additionalProperties": False,
}


def test_structs_inside_are_written_where_they_are_used() -> None:
    assert schema_of(Outer) == {
        "type": "object",
        "properties": {
            "items": {"type": "array", "items": INNER},
            "one": {"anyOf": [INNER, {"type": "null"}], "default": None},
        },
        "required": ["items"],
        "additionalProperties": False,
    }


def test_an_unknown_name_inside_is_refused_with_its_place() -> None:
    with pytest.raises(ToolError, match=r"`more` - at `\$\.items\[0\]`"):
        parse({"items": [{"title": "a", "more": 1}]}, Outer)


@pytest.mark.parametrize("value", ["\ud800", {"\udfff": 1}, object(), {1, 2}, [object()]])
def test_what_is_not_json_is_refused(value: Any) -> None:
    with pytest.raises(ToolError) as caught:
        parse({"items": [{"title": value}]}, Outer)
    assert caught.value.kind == "validation"
