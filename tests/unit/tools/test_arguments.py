"""Arguments inside arguments, and text that cannot be written."""

from typing import Annotated, Any

import pytest
from msgspec import Meta

from skills_runtime.errors import ToolError
from skills_runtime.tools import Arguments, build_schema, parse


class Inner(Arguments, frozen=True):
    """What is inside."""

    title: Annotated[str, Meta(description="A name that is also a keyword.")]
    level: Annotated[int, Meta(ge=0, description="How deep.")] = 1


class Outer(Arguments, frozen=True):
    """What is outside."""

    items: Annotated[list[Inner], Meta(description="Some.")]
    one: Inner | None = None


INNER = {
    "description": "What is inside.",
    "type": "object",
    "properties": {
        "title": {"type": "string", "description": "A name that is also a keyword."},
        "level": {"type": "integer", "minimum": 0, "description": "How deep.", "default": 1},
    },
    "required": ["title"],
    "additionalProperties": False,
}


def test_structs_inside_are_written_where_they_are_used() -> None:
    assert build_schema(Outer) == {
        "type": "object",
        "properties": {
            "items": {"type": "array", "items": INNER, "description": "Some."},
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


@pytest.mark.parametrize("count", [3.0, 3])
def test_a_whole_number_is_an_integer_however_it_is_written(count: float) -> None:
    assert parse({"items": [{"title": "a", "level": count}]}, Outer) == Outer(items=[Inner(title="a", level=3)])


@pytest.mark.parametrize("level", [3.5, float("inf"), True, "3"])
def test_what_is_no_whole_number_is_refused(level: object) -> None:
    with pytest.raises(ToolError, match=r"at `\$\.items\[0\]\.level`"):
        parse({"items": [{"title": "a", "level": level}]}, Outer)


def test_null_says_that_something_is_left_out_where_it_may_be() -> None:
    inner = {"title": "a", "level": None}
    assert parse({"items": [inner], "one": inner}, Outer) == Outer(items=[Inner(title="a")], one=Inner(title="a"))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"items": None}, r"got `null` - at `\$\.items`"),
        ({"items": [None]}, r"got `null` - at `\$\.items\[0\]`"),
        ({"items": [{"title": None}]}, r"got `null` - at `\$\.items\[0\]\.title`"),
        ({"items": [], "other": None}, "unknown field `other`"),
    ],
)
def test_null_for_what_has_to_be_there_is_refused(arguments: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ToolError, match=complaint):
        parse(arguments, Outer)
