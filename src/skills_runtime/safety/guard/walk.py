"""Walks the tree of a script without recursion, so that no nesting is too deep for it."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from skills_runtime.safety.guard.calls import Opener, Scene
from skills_runtime.safety.guard.ground import SILENT, WORDS, Ground
from skills_runtime.safety.guard.statements import VISITS
from skills_runtime.safety.guard.syntax import Script
from skills_runtime.safety.guard.text import names
from skills_runtime.safety.guard.words import plain_word, unknown_word

if TYPE_CHECKING:
    from tree_sitter import Node

_TRANSPARENT = names(
    """
    program list subshell compound_statement if_statement elif_clause else_clause while_statement do_group
    negated_command arithmetic_expansion binary_expression unary_expression ternary_expression postfix_expression
    parenthesized_expression c_style_for_statement for_statement case_statement case_item array subscript
    variable_assignments command_name heredoc_body ERROR
    """
)
"""Nodes that only hold others."""

_JOINED_LINES = re.compile(r"\S\\\n\S|\n[ \t]*\\\n")
"""Where the parser and the shell do not agree on what a backslash at the end of a line does."""
_MAX_SEGMENTS = 64


def read_script(opener: Opener, script: Script, scene: Scene, environment: Mapping[str, str]) -> None:
    """Visit every node that matters, and hand each simple command to the opener."""
    ground = Ground(opener, script, environment)
    root = script.root
    ground.stack.append((root, scene))
    while ground.stack:
        node, ground.scene = ground.stack.pop()
        if not ground.found.spend():
            return
        _visit(ground, node)
    if "\\\n" in script.text and _JOINED_LINES.search(script.text):
        ground.puzzle("a word goes on in the next line", root)
    if root.has_error:
        _salvage(ground, scene)


def _visit(ground: Ground, node: "Node") -> None:
    kind = node.type
    if visit := VISITS.get(kind):
        visit(ground, node)
    elif kind in _TRANSPARENT:
        ground.push(node.children, node)
    elif kind in WORDS:
        for word in ground.evaluator.words(node):
            if not ground.scene.tested:
                ground.look_at(word)
    elif node.is_named and kind not in SILENT:
        ground.puzzle("a part of the command is not understood", node)


def _salvage(ground: Ground, scene: Scene) -> None:
    """Of a text with errors, judge whatever could be a command."""
    text, root = ground.script.text, ground.script.root
    ground.puzzle("the command has a syntax error", root)
    if re.search(r"/dev/(?:tcp|udp)/", text):
        ground.found.worsen("high", "connects over the network", text, ground.span(root))
    for segment in re.split(r"[;&|\n()`]|<<+-?", text)[:_MAX_SEGMENTS]:
        texts = re.sub(r"[{},]", " ", re.sub(r"['\"\\]", "", segment)).split()
        whole = len(ground.script.source)
        words = [
            unknown_word(end=whole) if "$" in part else plain_word(part, 0, whole) for part in texts[:_MAX_SEGMENTS]
        ]
        if words and ground.found.spend(len(words)):
            ground.opener.command(ground.script, words, scene.deeper())
