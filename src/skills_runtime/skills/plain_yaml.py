"""YAML in which every scalar stays the text it was written as.

Built from the parser's events without recursion, so that no nesting can overrun a stack; aliases are refused, so that
a short text never stands for a long one. Tags mean nothing here.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

from skills_runtime.skills.neutral import one_line

if TYPE_CHECKING:
    import yaml

MAX_DEPTH = 32


class Unusable(ValueError):
    """Why a text is not usable YAML."""


class _Open:
    """A list or a mapping that is being filled."""

    def __init__(self, value: dict[str, Any] | list[Any]) -> None:
        self.value = value
        self._key: str | None = None

    def put(self, item: Any) -> None:
        """Take the next item; in a mapping keys and values take turns, and the last of two equal keys counts."""
        if isinstance(self.value, list):
            self.value.append(item)
        elif self._key is not None:
            self.value[self._key], self._key = item, None
        elif isinstance(item, str):
            self._key = item
        else:
            raise Unusable("a key is not text")


def parse_mapping(data: bytes) -> dict[str, Any]:
    """The mapping that YAML bytes hold; nothing at all is an empty one."""
    import yaml

    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        parse = cast("Callable[..., Iterable[yaml.Event]]", yaml.parse)  # pyright: ignore[reportUnknownMemberType]
        documents = _built(parse(data.decode("utf-8-sig"), Loader=loader))
    except UnicodeDecodeError as error:
        raise Unusable(f"byte {error.start} is not UTF-8") from None
    except yaml.YAMLError as error:
        raise Unusable(_why(error)) from None
    if len(documents) > 1:
        raise Unusable("it holds more than one document")
    value: Any = documents[0] if documents else ""
    if value == "":
        return {}
    if not isinstance(value, dict):
        raise Unusable("it must be a mapping")
    return cast("dict[str, Any]", value)


def _built(events: "Iterable[yaml.Event]") -> list[Any]:
    import yaml

    documents: list[Any] = []
    stack = [_Open(documents)]
    for event in events:
        if isinstance(event, yaml.ScalarEvent):
            stack[-1].put(event.value)
        elif isinstance(event, yaml.CollectionStartEvent):
            inner = _Open({} if isinstance(event, yaml.MappingStartEvent) else [])
            stack[-1].put(inner.value)
            stack.append(inner)
            if len(stack) > MAX_DEPTH:
                raise Unusable(f"more than {MAX_DEPTH - 1} levels are nested")
        elif isinstance(event, yaml.CollectionEndEvent):
            stack.pop()
        elif isinstance(event, yaml.AliasEvent):
            raise Unusable("it has an alias, which is not taken here")
    return documents


def _why(error: "yaml.YAMLError") -> str:
    mark = getattr(error, "problem_mark", None)
    place = f"line {mark.line + 1}: " if mark is not None else ""
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed"
    return place + one_line(str(problem))
