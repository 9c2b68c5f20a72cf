"""What all visits to a tree share: the script, its words, and the nodes still to be visited."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from skills_runtime.safety.guard.bindings import Bindings
from skills_runtime.safety.guard.calls import Opener, Scene
from skills_runtime.safety.guard.evaluate import Evaluator
from skills_runtime.safety.guard.findings import Findings
from skills_runtime.safety.guard.functions import Functions
from skills_runtime.safety.guard.paths import matching, reading
from skills_runtime.safety.guard.syntax import Script, Span
from skills_runtime.safety.guard.text import names
from skills_runtime.safety.guard.words import Word

if TYPE_CHECKING:
    from tree_sitter import Node

WORDS = names(
    """
    word string raw_string ansi_c_string translated_string concatenation simple_expansion expansion number
    brace_expression regex extglob_pattern
    """
)
"""Nodes that become words."""

SILENT = names(
    """
    variable_name special_variable_name test_operator file_descriptor heredoc_start heredoc_end heredoc_content
    string_content
    """
)
"""Nodes in which nothing can be hidden."""

_LOOSE = names("heredoc_body arithmetic_expansion array subscript ERROR expansion string")
"""Nodes in which the parser leaves gaps that are no spaces."""


class Ground:
    """One script under way: where findings go and what is left to visit."""

    __slots__ = ("bindings", "evaluator", "extra", "found", "functions", "opener", "scene", "script", "stack")

    def __init__(self, opener: Opener, script: Script, environment: Mapping[str, str]) -> None:
        self.opener = opener
        self.found: Findings = opener.found
        self.script = script
        self.bindings = Bindings(script, environment)
        self.evaluator = Evaluator(script, self.bindings, opener.found, self.hand_on)
        self.functions = Functions(script)
        self.stack: list[tuple[Node, Scene]] = []
        self.extra: dict[int, list[Word]] = {}
        """Words that stand behind a redirection and belong to a command, by the id of its node."""
        self.scene = Scene()
        """What surrounds the node that is visited now."""

    def push(self, nodes: "list[Node]", parent: "Node", scene: Scene | None = None) -> None:
        """Put nodes on the stack so that the first is visited first; what lies between them must be space."""
        if parent.type not in _LOOSE:
            end = nodes[0].end_byte if nodes else 0
            for node in nodes:
                start = node.start_byte
                if start > end and self.script.source[end:start].strip(b" \t\n\\"):
                    self.puzzle("a part of the command is not understood", parent)
                end = node.end_byte
        scene = scene or self.scene
        self.stack.extend([(node, scene) for node in reversed(nodes) if node.is_named])

    def hand_on(self, node: "Node") -> None:
        """Visit later what was found inside of a word."""
        if node.type in ("expansion", "simple_expansion"):
            self.push(node.named_children, node)
        else:
            self.stack.append((node, self.scene))

    def look_at(self, word: Word) -> None:
        """Judge a word that is no argument, but can still become one."""
        judgement = matching(word.shape) if word.glob else reading(word.shape)
        if judgement:
            self.found.worsen(*judgement, *self.place_of(word))

    def puzzle(self, reason: str, node: "Node") -> None:
        """Say that a node is not understood."""
        self.found.puzzle(reason, self.text(node), self.span(node))

    def text(self, node: "Node") -> str:
        """A node as it is written."""
        return self.script.written(node.start_byte, node.end_byte)

    def span(self, node: "Node") -> Span | None:
        """A node's place in the outermost line."""
        return self.script.span(node.start_byte, node.end_byte)

    def place_of(self, word: Word) -> tuple[str, Span | None]:
        """A word as it is written, and where."""
        return self.script.written(word.start, word.end), self.script.span(word.start, word.end)
