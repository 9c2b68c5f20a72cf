"""YAML as texts, lists and mappings that know the line they stand on.

Every scalar stays the text it was written as. Built from the parser's events without recursion, so that no nesting can
overrun a stack; aliases are refused, so that a short text never stands for a long one.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

import msgspec

from skills_runtime.errors import ConfigError

if TYPE_CHECKING:
    import yaml

MAX_DEPTH = 8
MAX_CHARS = 1_048_576


class Text(msgspec.Struct, frozen=True):
    """A scalar; plain nothing is empty text."""

    value: str
    line: int


class Items(msgspec.Struct, frozen=True):
    """A list."""

    values: "list[Node]"
    line: int
    column: int = 0
    flow: bool = False


class Entries(msgspec.Struct, frozen=True):
    """A mapping."""

    values: "dict[str, Node]"
    line: int
    flow: bool = False


Node = Text | Items | Entries


def refusal(origin: str, line: int, problem: str, hint: str) -> ConfigError:
    """The error that names a place in a rule file."""
    return ConfigError(f"`{origin}` line {line}: {problem}", hint=hint, origin=origin, line=line)


def parse_document(text: str, origin: str) -> Node | None:
    """The one document of a text, or nothing when it is empty."""
    import yaml

    if len(text) > MAX_CHARS:
        raise ConfigError(f"`{origin}` is longer than {MAX_CHARS} characters", hint="make it smaller")
    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    parse = cast("Callable[..., Iterable[yaml.Event]]", yaml.parse)  # pyright: ignore[reportUnknownMemberType]
    try:
        documents = _built(parse(text.removeprefix("\ufeff"), Loader=loader), origin)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed"
        plain = "".join(char if char.isprintable() else " " for char in str(reason))
        raise refusal(
            origin, mark.line + 1 if mark else 1, f"this is not YAML: {plain}", "correct the file at that place"
        ) from None
    if len(documents) > 1:
        raise refusal(origin, documents[1].line, "a second document begins here", "write all rules into one list")
    return documents[0] if documents else None


def _built(events: "Iterable[yaml.Event]", origin: str) -> list[Node]:
    import yaml

    documents: list[Node] = []
    stack: list[_Open] = [_Open(Items(documents, 1))]
    for event in events:
        mark = cast("yaml.Mark", event.start_mark)
        line = mark.line + 1
        if isinstance(event, yaml.ScalarEvent):
            plain = event.implicit[0] and event.value in ("null", "~", "Null", "NULL")
            stack[-1].put(Text("" if plain else event.value, line), origin)
        elif isinstance(event, yaml.AliasEvent):
            raise refusal(origin, line, "an alias stands here", "write the value out")
        elif isinstance(event, yaml.CollectionStartEvent):
            flow = bool(event.flow_style)
            inner = (
                Entries({}, line, flow)
                if isinstance(event, yaml.MappingStartEvent)
                else Items([], line, mark.column, flow)
            )
            stack[-1].put(inner, origin)
            stack.append(_Open(inner))
            if len(stack) > MAX_DEPTH:
                raise refusal(origin, line, "this is nested too deeply", "a rule is a mapping of texts and lists")
        elif isinstance(event, yaml.CollectionEndEvent):
            stack.pop()
    return documents


class _Open:
    """A list or a mapping that is being filled."""

    def __init__(self, node: Items | Entries) -> None:
        self._node = node
        self._key: Text | None = None

    def put(self, item: Node, origin: str) -> None:
        """Take the next item; in a mapping keys and values take turns."""
        if isinstance(self._node, Items):
            self._node.values.append(item)
        elif self._key is not None:
            self._node.values[self._key.value], self._key = item, None
        elif not isinstance(item, Text):
            raise refusal(origin, item.line, "a key is not text", "write `name: value`")
        elif item.value in self._node.values:
            raise refusal(origin, item.line, f"the key `{item.value}` stands here a second time", "keep one of them")
        else:
            self._key = item
