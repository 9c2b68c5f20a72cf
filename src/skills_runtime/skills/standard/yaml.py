"""A YAML parser in which every scalar stays text.

Iterative, so nesting cannot overflow the stack; the expansion of aliases is limited, so a short text cannot become
huge. Tags are ignored.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

import msgspec

from skills_runtime.text import one_line

if TYPE_CHECKING:
    import yaml

MAX_DEPTH = 32
MAX_ALIASED = 20_000
"""Limit of the total expansion of aliases, in characters and items."""


class Unusable(ValueError):
    """Raised for unusable YAML, with the position; lines and columns count from one."""

    def __init__(self, reason: str, *, line: int | None = None, column: int | None = None) -> None:
        super().__init__(f"line {line}: {reason}" if line is not None else reason)
        self.reason = reason
        self.line = line
        self.column = column


class NoMapping(Unusable):
    """The text is YAML, but not a mapping."""


class Document(msgspec.Struct, frozen=True):
    """A parsed mapping, and its duplicate keys with the lines of the later occurrences."""

    value: dict[str, Any]
    repeated: tuple[tuple[str, int], ...] = ()


class _Open:
    """A list or mapping under construction."""

    def __init__(self, value: dict[str, Any] | list[Any], anchor: str | None = None) -> None:
        self.value = value
        self.anchor = anchor
        self.size = 1
        self._key: str | None = None

    def put(self, item: Any, size: int) -> str | None:
        """Add an item; in a mapping keys and values alternate, and the last of two equal keys wins.

        Returns a key that was there before.
        """
        self.size += size
        if isinstance(self.value, list):
            self.value.append(item)
        elif self._key is not None:
            self.value[self._key], self._key = item, None
        elif isinstance(item, str):
            self._key = item
            return item if item in self.value else None
        else:
            raise Unusable("a key is not text")
        return None


class _Builder:
    """Builds values from parser events."""

    def __init__(self) -> None:
        self.documents: list[Any] = []
        self.repeated: list[tuple[str, int]] = []
        self._stack = [_Open(self.documents)]
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._aliased = 0

    def put(self, value: Any, size: int, line: int, anchor: str | None = None) -> None:
        """Add a complete value."""
        again = self._stack[-1].put(value, size)
        if again is not None:
            self.repeated.append((again, line))
        if anchor:
            self._anchors[anchor] = (value, size)

    def open(self, value: dict[str, Any] | list[Any], anchor: str | None) -> None:
        """Start a list or a mapping."""
        self._stack[-1].put(value, 0)
        self._stack.append(_Open(value, anchor))
        if len(self._stack) > MAX_DEPTH:
            raise Unusable(f"more than {MAX_DEPTH - 1} levels are nested")

    def close(self) -> None:
        """Finish the innermost list or mapping."""
        closed = self._stack.pop()
        self._stack[-1].size += closed.size
        if closed.anchor:
            self._anchors[closed.anchor] = (closed.value, closed.size)

    def repeat(self, anchor: str, line: int) -> None:
        """Add the value of an alias."""
        if anchor not in self._anchors:
            raise Unusable(f"the alias `{one_line(anchor)[:80]}` stands for nothing", line=line)
        value, size = self._anchors[anchor]
        self._aliased += size
        if self._aliased > MAX_ALIASED:
            raise Unusable("its aliases stand for too much", line=line)
        self.put(value, size, line)


def parse_mapping(data: bytes) -> dict[str, Any]:
    """Parse YAML bytes into a mapping; empty input is an empty mapping."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unusable(f"byte {error.start} is not UTF-8") from None
    return parse_text(text).value


def parse_text(text: str) -> Document:
    """Parse YAML text into a mapping with its duplicate keys; empty text is an empty mapping."""
    import yaml  # slow, and an index spares most processes from reading any front matter

    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    builder = _Builder()
    try:
        parse = cast("Callable[..., Iterable[yaml.Event]]", yaml.parse)  # pyright: ignore[reportUnknownMemberType]
        for event in parse(text, Loader=loader):
            mark: Any = event.start_mark
            if isinstance(event, yaml.ScalarEvent):
                builder.put(event.value, len(event.value) + 1, mark.line + 1, event.anchor)
            elif isinstance(event, yaml.CollectionStartEvent):
                builder.open({} if isinstance(event, yaml.MappingStartEvent) else [], event.anchor)
            elif isinstance(event, yaml.CollectionEndEvent):
                builder.close()
            elif isinstance(event, yaml.AliasEvent):
                builder.repeat(event.anchor or "", mark.line + 1)
    except yaml.YAMLError as error:
        at: Any = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed"
        line, column = (at.line + 1, at.column + 1) if at is not None else (None, None)
        raise Unusable(one_line(str(problem)), line=line, column=column) from None
    documents = builder.documents
    if len(documents) > 1:
        raise Unusable("it holds more than one document")
    value: Any = documents[0] if documents else ""
    if value == "":
        return Document({})
    if not isinstance(value, dict):
        raise NoMapping("it must be a mapping")
    return Document(cast("dict[str, Any]", value), tuple(builder.repeated))
