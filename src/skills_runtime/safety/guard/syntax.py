"""The shell's grammar: a text becomes a tree, and places in the tree become places in what was given."""

import re
import threading
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser

Span = tuple[int, int]

_local = threading.local()
_STAND_INS = bytes(byte if byte < 0x80 else 1 for byte in range(256))
"""The grammar's scanner looks characters up in tables that end with ASCII: beyond them it reads foreign memory.

To the shell such characters are letters of a word and nothing else, and so is what stands in for them.
"""


@cache
def _language() -> "Language":
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())


def _parser() -> "Parser":
    """A parser is not to be shared between threads."""
    found: Parser | None = getattr(_local, "parser", None)
    if found is None:
        import tree_sitter

        found = _local.parser = tree_sitter.Parser(_language())
    return found


_NEGATED_GROUP = re.compile(
    rb"!(?=[ \t]+(?:[{(!]|\w+=|[^\s(){};&|]+[ \t]*\(|function\b|if\b|while\b|until\b|for\b|case\b))"
)


def _prepared(source: bytes) -> bytes:
    """What the parser is given: the same places hold the same things, except for what its grammar does not know.

    Words are never taken from here, only where they begin and end.
    """
    if not source.isascii():
        source = source.translate(_STAND_INS)
    if b"!" in source:
        source = _NEGATED_GROUP.sub(b" ", source)
    return source.replace(b"<>", b"> ")


class Script:
    """One text of shell: the outermost line, or code that was found inside of it."""

    __slots__ = ("_ascii", "_root", "fixed", "level", "offset", "source", "text")

    def __init__(self, text: str, *, level: int = 0, offset: int | None = 0, fixed: Span | None = None) -> None:
        self.text = text
        self.source = text.encode()
        self.level = level
        self.offset = offset
        """Where it begins in the outermost line, when it stands there word for word."""
        self.fixed = fixed
        """The place that stands for all of it, when it does not."""
        self._ascii = len(text) == len(self.source)
        self._root: Node | None = None

    @property
    def root(self) -> "Node":
        """The whole text as a tree, parsed when it is first asked for."""
        if self._root is None:
            self._root = _parser().parse(_prepared(self.source)).root_node
        return self._root

    def written(self, start: int, end: int) -> str:
        """A part as it is written; the places are bytes."""
        return self.source[start:end].decode(errors="replace")

    def span(self, start: int, end: int) -> Span | None:
        """A part's place in the outermost line, in characters."""
        if self.offset is None:
            return self.fixed
        if self._ascii:
            return self.offset + start, self.offset + end
        before = len(self.source[:start].decode(errors="replace"))
        return self.offset + before, self.offset + before + len(self.written(start, end))

    def inner(self, text: str, start: int, end: int) -> "Script":
        """Code that a word of this script holds."""
        written = self.written(start, end)
        at = written.find(text) if text else -1
        if self.offset is None or at < 0:
            return Script(text, level=self.level + 1, offset=None, fixed=self.span(start, end))
        span = self.span(start, end)
        return Script(text, level=self.level + 1, offset=(span[0] if span else 0) + at)
