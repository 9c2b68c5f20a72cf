"""The variables that a script sets itself, and what is known of their values."""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal

from skills_runtime.safety.guard.paths import is_tame
from skills_runtime.safety.guard.syntax import Script

if TYPE_CHECKING:
    from tree_sitter import Node

Binding = tuple[Literal["constant"], str] | tuple[Literal["tame", "wild"], None]
"""A value that is known; names of files below the working directory; anything."""

WILD: Binding = ("wild", None)
TAME: Binding = ("tame", None)

_SETTERS = re.compile(
    r"\b(?:read|mapfile|readarray|getopts|let|declare|typeset|local|printf\s+-v|eval|source)\b|\$\(\(|\(\("
)
"""Programs that set variables in ways that are not followed here."""
_BARE = re.compile(r"[\w./:=,@%+*?-]+")


class Bindings:
    """Looks values up; the tree is searched only when somebody asks."""

    __slots__ = ("_found", "_given", "_script", "_unfollowed")

    def __init__(self, script: Script, given: Mapping[str, str]) -> None:
        self._script = script
        self._given = given
        self._found: dict[str, Binding] | None = None
        self._unfollowed = False

    def lookup(self, name: str) -> Binding | None:
        """What is known of a variable; nothing when the script does not set it."""
        if self._found is None:
            self._found = self._collect()
        binding = self._found.get(name)
        if binding is not None:
            return binding
        if name in self._given:
            return ("constant", self._given[name])
        return WILD if self._unfollowed else None

    def _collect(self) -> dict[str, Binding]:
        text = self._script.text
        found: dict[str, Binding] = {}
        self._unfollowed = bool(_SETTERS.search(text))
        if "=" not in text and " in " not in text:
            return found
        for name, values in self._assignments():
            found[name] = WILD if name in found else _binding(values)
        return found

    def _assignments(self) -> Iterator[tuple[str, list[str | None]]]:
        stack = [self._script.root]
        while stack:
            node = stack.pop()
            if node.type == "variable_assignment":
                yield self._assignment(node)
            elif node.type == "for_statement":
                name = node.child_by_field_name("variable")
                listed = [self._literal(value) for value in node.children_by_field_name("value")]
                # One more, so that a loop over a single value is not taken for a constant.
                yield (self._text(name) if name else ""), [*listed, "x" if listed else None]
            stack.extend(node.named_children)

    def _assignment(self, node: "Node") -> tuple[str, list[str | None]]:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        appended = len(node.children) > 1 and node.children[1].type == "+="
        known = "" if value is None else self._literal(value)
        return (self._text(name) if name else ""), [None if appended else known]

    def _literal(self, node: "Node") -> str | None:
        text = self._text(node)
        if node.type in ("word", "number", "concatenation"):
            return text if _BARE.fullmatch(text) else None
        if node.type == "raw_string":
            return text[1:-1]
        if node.type == "string" and not re.search(r"[$`\\]", text):
            return text[1:-1]
        return None

    def _text(self, node: "Node") -> str:
        return self._script.written(node.start_byte, node.end_byte)


def _binding(values: list[str | None]) -> Binding:
    if len(values) == 1 and values[0] is not None and not re.search(r"[*?\[]", values[0]):
        return ("constant", values[0])
    if all(value is not None and is_tame(value) for value in values):
        return TAME
    return WILD
