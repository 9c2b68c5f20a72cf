"""Walks the tree of a script without recursion, and hands every simple command to the reader."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.safety.guard.bindings import Bindings
from skills_runtime.safety.guard.calls import Feed, Opener, Scene
from skills_runtime.safety.guard.evaluate import Evaluator
from skills_runtime.safety.guard.feeds import feed_of
from skills_runtime.safety.guard.functions import Functions
from skills_runtime.safety.guard.heredocs import heredoc_of
from skills_runtime.safety.guard.paths import matching, reading
from skills_runtime.safety.guard.redirects import Redirects
from skills_runtime.safety.guard.syntax import Script
from skills_runtime.safety.guard.variables import risk_of_variable
from skills_runtime.safety.guard.words import Word, plain_word

if TYPE_CHECKING:
    from tree_sitter import Node

_WORDS = frozenset(
    ["word", "string", "raw_string", "ansi_c_string", "translated_string", "concatenation", "simple_expansion", "expansion", "number", "brace_expression", "regex", "extglob_pattern"]
)
_TRANSPARENT = frozenset(
    ["program", "list", "subshell", "compound_statement", "if_statement", "elif_clause", "else_clause", "while_statement", "do_group", "negated_command", "arithmetic_expansion", "binary_expression", "unary_expression", "ternary_expression", "postfix_expression", "parenthesized_expression", "c_style_for_statement", "for_statement", "case_statement", "case_item", "array", "subscript", "variable_assignments", "command_name", "heredoc_body", "ERROR"]
)
_SILENT = frozenset(
    ["variable_name", "special_variable_name", "test_operator", "file_descriptor", "heredoc_start", "heredoc_end", "heredoc_content", "string_content"]
)
_LOOSE = frozenset(["heredoc_body", "arithmetic_expansion", "array", "subscript", "ERROR", "expansion", "string"])
"""Nodes in which the parser leaves gaps that are no spaces."""


class Walk:
    """The way through one script."""

    __slots__ = ("_bindings", "_evaluator", "_functions", "_opener", "_redirects", "_scene", "_script", "_stack")

    def __init__(self, opener: Opener, script: Script, environment: Mapping[str, str]) -> None:
        self._opener = opener
        self._script = script
        self._bindings = Bindings(script, environment)
        self._evaluator = Evaluator(script, self._bindings, opener.found, self._hand_on)
        self._functions = Functions(script)
        self._redirects = Redirects(opener, script, self._evaluator)
        self._stack: list[tuple[Node, Scene]] = []
        self._scene = Scene()

    def read(self, scene: Scene) -> None:
        """Visit every node that matters, in the order they are written."""
        root = self._script.root
        self._stack.append((root, scene))
        while self._stack:
            node, self._scene = self._stack.pop()
            if not self._opener.found.spend():
                return
            self._visit(node)
        if root.has_error:
            self._salvage(scene)

    def _visit(self, node: "Node") -> None:
        kind = node.type
        if visit := _VISITS.get(kind):
            visit(self, node)
        elif kind in _TRANSPARENT:
            self._push(node.children, node)
        elif kind in _WORDS:
            for word in self._evaluator.words(node):
                if not self._scene.tested:
                    self._look_at(word)
        elif node.is_named and kind not in _SILENT:
            self._puzzle("a part of the command is not understood", node)

    def _push(self, nodes: "list[Node]", parent: "Node", scene: Scene | None = None) -> None:
        """Put nodes on the stack so that the first is visited first; what lies between them must be space."""
        if parent.type not in _LOOSE:
            end = nodes[0].end_byte if nodes else 0
            for node in nodes:
                if node.start_byte > end and self._script.source[end : node.start_byte].strip(b" \t\n\\"):
                    self._puzzle("a part of the command is not understood", parent)
                end = node.end_byte
        scene = scene or self._scene
        self._stack.extend([(node, scene) for node in reversed(nodes) if node.is_named])

    def _hand_on(self, node: "Node") -> None:
        if node.type in ("expansion", "simple_expansion"):
            self._push(node.named_children, node)
        else:
            self._stack.append((node, self._scene))

    def _command(self, node: "Node") -> None:
        self._run(node, [], self._scene)

    def _run(self, node: "Node", extra: list[Word], scene: Scene) -> None:
        """One simple command: variables, a name, arguments, and redirections between them."""
        words: list[Word] = []
        end = -1
        for child in node.children:
            kind = child.type
            if kind == "variable_assignment":
                self._assignment(child)
                continue
            if kind == "file_redirect" or kind == "herestring_redirect":
                feed, more = self._redirects.redirect(child)
                words.extend(more)
                scene = msgspec.structs.replace(scene, feed=feed) if feed else scene
            else:
                if child.start_byte == end:
                    self._puzzle("words touch each other", node)
                if kind == "command_name" and re.search(
                    rb"[$`](?!')", self._script.source[child.start_byte : child.end_byte]
                ):
                    self._puzzle("which program runs is only known when it runs", child)
                target = child.children[0] if kind == "command_name" and child.child_count == 1 else child
                words.extend(self._evaluator.words(target))
            end = child.end_byte
        words.extend(extra)
        if words and not self._functions.calls(words[0], node):
            self._opener.command(self._script, words, scene)

    def _redirected(self, node: "Node") -> None:
        """A command with redirections behind it; more arguments may follow those."""
        body = node.child_by_field_name("body")
        scene, extra = self._scene, list[Word]()
        for child in node.children:
            if child == body:
                continue
            if child.type == "heredoc_redirect":
                scene = self._heredoc(child, body, scene)
            elif child.type in ("file_redirect", "herestring_redirect"):
                feed, more = self._redirects.redirect(child)
                extra.extend(more)
                scene = msgspec.structs.replace(scene, feed=feed) if feed else scene
            elif child.is_named:
                self._stack.append((child, scene))
        if body is not None and body.type == "command":
            self._run(body, extra, scene)
        elif body is not None:
            if extra:
                self._puzzle("words follow a redirection", node)
            self._stack.append((body, scene))

    def _heredoc(self, node: "Node", body: "Node | None", scene: Scene) -> Scene:
        document = heredoc_of(node, self._script)
        if not document.understood:
            self._puzzle("a here-document is not understood", node)
        for code in document.backquoted:
            self._opener.code(self._script, code, document.place, scene.deeper())
        feed = Feed(document.text, (None,), document.place)
        copies = body is not None and body.type == "command" and body.text == b"cat"
        passed = feed if copies else Feed(None, (None,), document.place)
        for child in node.children:
            if child.type == "pipeline":
                self._push(child.named_children, child, msgspec.structs.replace(scene, feed=lambda: passed))
            elif child.type == "file_redirect":
                _, more = self._redirects.redirect(child)
                if more:
                    self._puzzle("words follow a redirection", child)
            elif child.is_named and child.type not in _SILENT:
                self._stack.append((child, scene))
        if any(child.type in _WORDS for child in node.named_children):
            self._puzzle("words follow a redirection", node)
        return msgspec.structs.replace(scene, feed=lambda: feed)

    def _pipeline(self, node: "Node") -> None:
        stages = node.named_children
        pushed: list[tuple[Node, Scene]] = []
        for index, stage in enumerate(stages):
            scene = self._scene
            if index:
                scene = msgspec.structs.replace(scene, feed=self._fed_by(stages[:index]))
            if index + 1 < len(stages):
                scene = msgspec.structs.replace(scene, heard=True)
            pushed.append((stage, scene))
        self._stack.extend(reversed(pushed))

    def _fed_by(self, stages: "list[Node]"):
        return lambda: feed_of(self._script, stages, self._bindings)

    def _substitution(self, node: "Node") -> None:
        written = self._script.source[node.start_byte : node.end_byte]
        if written[:1] == b"`" and b"\\" in written:
            self._puzzle("backslashes inside of backquotes are not read", node)
        scene = msgspec.structs.replace(self._scene, heard=True, tested=False)
        if written[:2] == b">(":
            scene = msgspec.structs.replace(scene, feed=lambda: Feed(None, (None,)))
        self._push(node.children, node, scene)

    def _function(self, node: "Node") -> None:
        reason, high = self._functions.judge(node)
        if reason:
            self._puzzle(reason, node)
        if high:
            self._opener.found.worsen("high", "a function calls itself", self._text(node), self._span(node))
        name = node.child_by_field_name("name")
        self._push([child for child in node.named_children if child != name], node)

    def _declaration(self, node: "Node") -> None:
        """`export` and its like, which the grammar knows as something of their own."""
        words: list[Word] = []
        for child in node.children:
            if child.type == "variable_assignment":
                value = self._assignment(child)
                name = self._script.written(child.start_byte, child.end_byte).partition("=")[0]
                known = None if value is None or value.value is None else f"{name}={value.value}"
                shape = f"{name}={value.shape if value else ''}"
                words.append(Word(known, shape, child.start_byte, child.end_byte, bool(value and value.built)))
            elif child.is_named and child.type != "variable_name":
                words.extend(self._evaluator.words(child))
            else:
                words.append(plain_word(self._text(child), child.start_byte, child.end_byte))
        self._opener.command(self._script, words, self._scene)

    def _assignment(self, node: "Node") -> Word | None:
        """Judge a variable that is set, and give back its value."""
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is not None and name.type == "subscript":
            self._push(name.named_children, name)
        word = None
        if value is not None and value.type == "array":
            self._push(value.named_children, value)
        elif value is not None:
            words = self._evaluator.words(value)
            word = words[0] if len(words) == 1 else None
        risk = risk_of_variable(self._text(name) if name else "", word.value if word else None if value else "")
        if risk:
            self._opener.found.worsen(risk[0], risk[1], self._text(node), self._span(node))
        if word:
            self._look_at(word)
        return word

    def _test(self, node: "Node") -> None:
        if node.children[0].type == "[":
            words = [plain_word("[", node.start_byte, node.start_byte + 1)]
            words.append(plain_word(self._text(node)[1:].strip(), node.start_byte, node.end_byte))
            self._opener.command(self._script, words[:1], self._scene)
        self._push(node.children, node, msgspec.structs.replace(self._scene, tested=True))

    def _comment(self, node: "Node") -> None:
        before = self._script.source[node.start_byte - 1 : node.start_byte]
        if before and before not in b" \t\n;&|()":
            self._puzzle("a comment is not understood", node)

    def _lone_redirect(self, node: "Node") -> None:
        self._redirects.redirect(node)

    def _look_at(self, word: Word) -> None:
        """A word that is no argument can still become one."""
        judgement = matching(word.shape) if word.glob else reading(word.shape)
        if judgement:
            place = (word.start, word.end)
            self._opener.found.worsen(*judgement, self._script.written(*place), self._script.span(*place))

    def _salvage(self, scene: Scene) -> None:
        """Of a text with errors, judge whatever could be a command."""
        self._puzzle("the command has a syntax error", self._script.root)
        if re.search(r"/dev/(?:tcp|udp)/", self._script.text):
            self._opener.found.worsen("high", "connects over the network", self._script.text, self._span(self._script.root))
        for segment in re.split(r"[;&|\n()`]|<<+-?", self._script.text)[:64]:
            texts = re.sub(r"[{},]", " ", re.sub(r"['\"\\]", "", segment)).split()
            words = [plain_word(text, 0, len(self._script.source)) for text in texts]
            if words and self._opener.found.spend(len(words)):
                self._opener.command(self._script, words[:64], scene.deeper())

    def _puzzle(self, reason: str, node: "Node") -> None:
        self._opener.found.puzzle(reason, self._text(node), self._span(node))

    def _text(self, node: "Node") -> str:
        return self._script.written(node.start_byte, node.end_byte)

    def _span(self, node: "Node") -> tuple[int, int] | None:
        return self._script.span(node.start_byte, node.end_byte)


_VISITS = {
    "command": Walk._command,
    "redirected_statement": Walk._redirected,
    "pipeline": Walk._pipeline,
    "command_substitution": Walk._substitution,
    "process_substitution": Walk._substitution,
    "function_definition": Walk._function,
    "declaration_command": Walk._declaration,
    "unset_command": Walk._declaration,
    "variable_assignment": Walk._assignment,
    "test_command": Walk._test,
    "comment": Walk._comment,
    "file_redirect": Walk._lone_redirect,
    "herestring_redirect": Walk._lone_redirect,
}
