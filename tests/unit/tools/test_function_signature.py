"""What a callable says of itself, and how the arguments that a model wrote become what it takes."""

import asyncio
import functools
from collections.abc import Callable
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict, Field

from skills_runtime.errors import ToolError
from skills_runtime.ports import ToolResult
from skills_runtime.tools import tool_from
from tests.support.tools import Workshop

ID = "6f1cbf0e-5c1d-4d5e-9c59-3f0a6b1f2c11"


class Size(Enum):
    SMALL = "small"


class Order(BaseModel):
    """A model that takes nothing for something else."""

    model_config = ConfigDict(strict=True)

    id: UUID
    day: date
    size: Size
    tags: set[str]


class Greeter:
    """Greets people."""

    def __init__(self, word: str) -> None:
        self._word = word

    def __call__(self, name: str, *, loud: bool = False) -> str:
        said = f"{self._word} {name}"
        return said.upper() if loud else said


class Later:
    async def __call__(self, name: str) -> str:
        """Greet somebody later."""
        await asyncio.sleep(0)
        return f"bye {name}"


def greet(word: str, name: str, mark: str = "!") -> str:
    """Greet somebody."""
    return f"{word} {name}{mark}"


def called(place: Path, function: Callable[..., Any], arguments: dict[str, Any]) -> ToolResult:
    return asyncio.run(tool_from(function).invoke(arguments, Workshop(place)))


@pytest.mark.parametrize(
    ("function", "name", "description", "said"),
    [
        (Greeter("hello"), "Greeter", "Greets people.", "hello Ann"),
        (Later(), "Later", "Greet somebody later.", "bye Ann"),
        (functools.partial(greet, "hello"), "greet", "Greet somebody.", "hello Ann!"),
        (functools.partial(functools.partial(greet, mark="?"), "hello"), "greet", "Greet somebody.", "hello Ann?"),
        (functools.partial(Greeter("hello"), loud=True), "Greeter", "Greets people.", "HELLO ANN"),
    ],
)
def test_whatever_can_be_called_can_be_a_tool(
    tmp_path: Path, function: Callable[..., Any], name: str, description: str, said: str
) -> None:
    spec = tool_from(function).spec
    assert (spec.name, spec.description) == (name, description)
    assert spec.parameters["properties"]["name"]["type"] == "string"
    assert called(tmp_path, function, {"name": "Ann"}).stdout == said


def test_what_a_partial_has_given_is_neither_reported_to_the_model_nor_changed_by_it(tmp_path: Path) -> None:
    given = functools.partial(greet, mark="?")
    assert tool_from(given).spec.parameters["properties"].keys() == {"word", "name"}
    with pytest.raises(ToolError, match="mark: Extra inputs"):
        called(tmp_path, given, {"word": "hello", "name": "Ann", "mark": "!"})


def test_a_parameter_may_have_any_name(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    def odd(_hidden: int, model_config: int, model_validate: int, schema: int, copy: int = 5) -> list[int]:
        return [_hidden, model_config, model_validate, schema, copy]

    names = ["_hidden", "model_config", "model_validate", "schema"]
    parameters = tool_from(odd).spec.parameters
    assert (list(parameters["properties"]), parameters["required"]) == ([*names, "copy"], names)
    assert called(tmp_path, odd, {name: number for number, name in enumerate(names)}).data == {
        "result": [0, 1, 2, 3, 5]
    }
    with pytest.raises(ToolError, match="_hidden: "):
        called(tmp_path / "again", odd, {})
    assert not recwarn.list


def test_the_author_may_choose_the_name_that_the_model_uses(tmp_path: Path) -> None:
    def mail(from_: Annotated[str, Field(alias="from", min_length=1)], to: str = Field("all", alias="receiver")) -> str:
        return f"{from_} to {to}"

    assert tool_from(mail).spec.parameters["properties"].keys() == {"from", "receiver"}
    assert called(tmp_path, mail, {"from": "Ann"}).stdout == "Ann to all"


def test_arguments_are_read_as_the_json_they_are_also_by_strict_types(tmp_path: Path) -> None:
    def buy(order: Order) -> str:
        return f"{order.id} {order.day:%d.%m.} {order.size.name} {sorted(order.tags)}"

    wanted = {"id": ID, "day": "2026-05-01", "size": "small", "tags": ["b", "a"]}
    assert called(tmp_path, buy, {"order": wanted}).stdout == f"{ID} 01.05. SMALL ['a', 'b']"
