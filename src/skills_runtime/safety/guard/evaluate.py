"""From the tree to words: quoting is undone, and what only the running shell knows is left open."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from skills_runtime.safety.guard.bindings import Bindings
from skills_runtime.safety.guard.findings import Findings
from skills_runtime.safety.guard.syntax import Script
from skills_runtime.safety.guard.words import HOLE, Part, Word, ansi_text, bare_parts, join, plain_word

if TYPE_CHECKING:
    from tree_sitter import Node

_SIMPLE = re.compile(rb"[\w./:,@%+=-]+")
_BARE = re.compile(r"(?:[^\s'\"`$;&|<>()\\]|\\.|[$](?=$))+", re.DOTALL)
"""What the shell itself would take for one bare word; the parser is not simply believed."""
_MISSED = re.compile(r'(?<!\\)(?:\\\\)*(?:["`]|\$[\w({\[@*#?$!-])')
"""What must not be left over inside of double quotes or a here-document."""
_NUMERIC = frozenset("?$!#")
_QUOTED_ESCAPE = re.compile(r"\\([$`\"\\\n])")
OPENED = frozenset(
    {"command_substitution", "process_substitution", "arithmetic_expansion", "expansion", "simple_expansion"}
)


class Evaluator:
    """Turns the nodes of one script into words; commands inside of a word are handed on."""

    __slots__ = ("_bindings", "_found", "_hand_on", "_script")

    def __init__(self, script: Script, bindings: Bindings, found: Findings, hand_on: Callable[["Node"], None]) -> None:
        self._script = script
        self._bindings = bindings
        self._found = found
        self._hand_on = hand_on

    def words(self, node: "Node") -> list[Word]:
        """The words one node becomes: mostly one."""
        start, end = node.start_byte, node.end_byte
        if node.type == "word" or node.type == "number":
            raw = self._script.source[start:end]
            if _SIMPLE.fullmatch(raw):
                return [plain_word(raw.decode(), start, end)]
        if node.type in ("simple_expansion", "expansion") and (split := self._split(node)):
            return split
        words = join(self._parts(node), start, end)
        for word in words:
            if "[" in word.shape and re.search(r"\w\[[^\]]{0,400}(?:\$[({]|`)", word.shape):
                self._puzzle("a word holds a subscript with code in it", node)
        return words

    def _parts(self, node: "Node") -> list[Part]:
        text = self._script.written(node.start_byte, node.end_byte)
        match node.type:
            case "word" | "number":
                return self._bare(node, text)
            case "raw_string":
                return [Part(text[1:-1], quoted=True)]
            case "ansi_c_string":
                decoded = ansi_text(text[2:-1])
                return [self._unknown(node)] if decoded is None else [Part(decoded, quoted=True)]
            case "string":
                return self._string(node)
            case "translated_string" | "concatenation" | "command_name":
                return self._together(node)
            case "simple_expansion" | "expansion":
                return [self._variable(node, quoted=False)]
            case _:
                return [self._rare(node, text)]

    def _rare(self, node: "Node", text: str) -> Part:
        match node.type:
            case "command_substitution":
                self._hand_on(node)
                return Part(HOLE, unknown=True, built=True, several=True)
            case "process_substitution":
                self._hand_on(node)
                return Part(HOLE, unknown=True, process=True)
            case "arithmetic_expansion":
                self._hand_on(node)
                return Part(HOLE, unknown=True)
            case "brace_expression":
                return Part(HOLE, unknown=True, several=True)
            case "regex" | "extglob_pattern" | "test_operator" | "variable_name" | "==" | "=~":
                if re.search(r"[$`]", text):
                    return self._unknown(node)
                return Part(text)
            case _:
                return self._unknown(node)

    def _bare(self, node: "Node", text: str) -> list[Part]:
        if not _BARE.fullmatch(text) or text.startswith("#") or node.has_error:
            return [self._unknown(node)]
        if text.startswith("~") and len(text) > 1 and re.match(r"~[\w+-]", text):
            return [Part("~", unknown=True), *bare_parts(text[1:])]
        return bare_parts(text)

    def _together(self, node: "Node") -> list[Part]:
        parts: list[Part] = []
        end = node.start_byte
        for child in node.children:
            if child.start_byte != end:
                parts.append(self._unknown(node))
            end = child.end_byte
            if child.type == "$":
                dollar = end == node.end_byte or node.type == "translated_string"
                parts.append(
                    Part("" if node.type == "translated_string" else "$", quoted=True)
                    if dollar
                    else self._unknown(node)
                )
            else:
                parts.extend(self._parts(child))
        return parts

    def _string(self, node: "Node") -> list[Part]:
        parts: list[Part] = [Part("", quoted=True)]
        at = node.start_byte + 1
        for child in node.named_children:
            if child.type not in OPENED:
                if child.type != "string_content":
                    parts.append(self._unknown(child))
                continue
            parts.extend(self._quoted(node, at, child.start_byte))
            parts.append(self._inside(child))
            at = child.end_byte
        return [*parts, *self._quoted(node, at, node.end_byte - 1)]

    def _inside(self, child: "Node") -> Part:
        if child.type in ("simple_expansion", "expansion"):
            return self._variable(child, quoted=True)
        self._hand_on(child)
        return Part(HOLE, unknown=True, quoted=True, built=child.type != "arithmetic_expansion")

    def _quoted(self, node: "Node", start: int, end: int) -> list[Part]:
        text = self._script.written(start, end)
        if not text:
            return []
        if _MISSED.search(text):
            return [self._unknown(node)]
        return [Part(_QUOTED_ESCAPE.sub(lambda match: "" if match[1] == "\n" else match[1], text), quoted=True)]

    def _variable(self, node: "Node", *, quoted: bool) -> Part:
        name = self._name(node)
        if name is None:
            self._hand_on(node)
            if node.type == "expansion" and "@" in self._script.written(node.start_byte, node.end_byte):
                self._puzzle("a value is put through a transformation", node)
            return Part(HOLE, unknown=True, built=True, several=not quoted)
        if name in _NUMERIC:
            return Part(HOLE, unknown=True)
        if not name[0].isalpha() and (name[0] != "_" or name == "_"):
            return Part(HOLE, unknown=True, built=True, several=not quoted or name == "@")
        binding = self._bindings.lookup(name)
        if binding is None:
            known = {"HOME": "~", "PWD": "."}.get(name)
            return Part(known or HOLE, unknown=True, several=not quoted and known is None)
        kind, value = binding
        if kind == "constant" and value is not None and (quoted or not re.search(r"[\s*?\[]", value)):
            return Part(value, quoted=True)
        return Part(HOLE, unknown=True, built=kind != "tame", alone=True, several=not quoted)

    def _name(self, node: "Node") -> str | None:
        """The name, when nothing but the variable's value is asked for."""
        inner = self._script.written(node.start_byte, node.end_byte)[1:]
        if node.type == "expansion":
            inner = inner[1:-1]
            if inner.startswith("#") and inner[1:].isidentifier():
                return "#"
        return inner if inner.isidentifier() or inner.isdecimal() or (len(inner) == 1 and inner in "@*#?-$!") else None

    def _split(self, node: "Node") -> list[Word]:
        """The words of an unquoted variable whose value is known and is more than one word."""
        name = self._name(node)
        binding = self._bindings.lookup(name) if name and name.isidentifier() else None
        value = binding[1] if binding and binding[0] == "constant" else None
        if value is None or not re.search(r"[\s*?\[]", value):
            return []
        return [word for text in value.split() for word in join([Part(text)], node.start_byte, node.end_byte)]

    def _unknown(self, node: "Node") -> Part:
        self._puzzle("a word is not understood", node)
        return Part(HOLE, unknown=True, built=True, several=True)

    def _puzzle(self, reason: str, node: "Node") -> None:
        start, end = node.start_byte, node.end_byte
        self._found.puzzle(reason, self._script.written(start, end), self._script.span(start, end))
