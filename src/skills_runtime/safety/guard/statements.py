"""What is done at each kind of node: commands, pipelines, substitutions, functions, variables."""

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.safety.guard.calls import Feed, Scene
from skills_runtime.safety.guard.feeds import feed_of
from skills_runtime.safety.guard.ground import Ground
from skills_runtime.safety.guard.redirects import fed, heredoc, redirect
from skills_runtime.safety.guard.variables import risk_of_variable
from skills_runtime.safety.guard.words import Word, plain_word

if TYPE_CHECKING:
    from tree_sitter import Node

_REDIRECTS = ("file_redirect", "herestring_redirect")
_MAX_STAGES = 16
_EXPANDED = re.compile(rb"[$`](?!')")


def command(ground: Ground, node: "Node") -> None:
    """One simple command that stands alone."""
    _run(ground, node, ground.extra.pop(node.id, []), ground.scene)


def _run(ground: Ground, node: "Node", extra: list[Word], scene: Scene) -> None:
    """One simple command: variables, a name, arguments, and redirections between them."""
    words: list[Word] = []
    end = -1
    for child in node.children:
        if end >= 0 and child.type not in _REDIRECTS and not _is_gap(ground.script.source[end : child.start_byte]):
            ground.puzzle("words touch each other", node)
        end = child.end_byte
        if child.type == "variable_assignment":
            assignment(ground, child)
        elif child.type in _REDIRECTS:
            scene, more = redirect(ground, child, scene)
            words.extend(more)
            end = -1
        elif child.type == "command_name":
            words.extend(_name(ground, child))
        else:
            words.extend(ground.evaluator.words(child))
    words.extend(extra)
    if words and not ground.functions.calls(words[0], node):
        ground.opener.command(ground.script, words, scene)


def _is_gap(between: bytes) -> bool:
    """Whether the shell, too, would see one space between two words of a command."""
    return between == b" " or (bool(between) and b"\n" not in between.replace(b"\\\n", b""))


def _name(ground: Ground, node: "Node") -> list[Word]:
    if _EXPANDED.search(ground.script.source, node.start_byte, node.end_byte):
        ground.puzzle("which program runs is only known when it runs", node)
    return ground.evaluator.words(node.children[0] if node.child_count == 1 else node)


def redirected(ground: Ground, node: "Node") -> None:
    """A command with redirections behind it; more arguments may follow those."""
    body = node.child_by_field_name("body")
    scene, extra = ground.scene, list[Word]()
    for child in node.children:
        if child == body:
            continue
        if child.type == "heredoc_redirect":
            scene = heredoc(ground, child, body, scene)
        elif child.type in _REDIRECTS:
            scene, more = redirect(ground, child, scene)
            extra.extend(more)
        elif child.is_named:
            ground.stack.append((child, scene))
    if body is None:
        return
    if body.type == "command":
        _run(ground, body, extra, scene)
        return
    last = _last_command(body)
    if extra and last is None:
        ground.puzzle("words follow a redirection", node)
    elif extra and last is not None:
        ground.extra[last.id] = extra
    ground.stack.append((body, scene))


def _last_command(node: "Node") -> "Node | None":
    """The command that a redirection behind several belongs to."""
    while node.type in ("list", "pipeline", "negated_command") and node.named_children:
        node = node.named_children[-1]
    return node if node.type == "command" else None


def lone_redirect(ground: Ground, node: "Node") -> None:
    """A redirection without a command."""
    redirect(ground, node, ground.scene)


def pipeline(ground: Ground, node: "Node") -> None:
    """Commands that feed each other."""
    stages = node.named_children
    pushed: list[tuple[Node, Scene]] = []
    for index, stage in enumerate(stages):
        scene = ground.scene
        if index:
            scene = msgspec.structs.replace(scene, feed=_fed_by(ground, stages[:index]))
        if index + 1 < len(stages):
            scene = msgspec.structs.replace(scene, heard=True)
        pushed.append((stage, scene))
    ground.stack.extend(reversed(pushed))


def _fed_by(ground: Ground, stages: "list[Node]") -> Callable[[], Feed]:
    if len(stages) > _MAX_STAGES:
        return lambda: Feed(None, (None,))
    return lambda: feed_of(ground.script, stages, ground.bindings)


def substitution(ground: Ground, node: "Node") -> None:
    """Commands inside of a word."""
    written = ground.script.source[node.start_byte : node.end_byte]
    if written[:1] == b"`" and b"\\" in written:
        ground.puzzle("backslashes inside of backquotes are not read", node)
    scene = msgspec.structs.replace(ground.scene, heard=True, tested=False)
    if written[:2] == b">(":
        scene = fed(scene, Feed(None, (None,)))
    ground.push(node.children, node, scene)


def function(ground: Ground, node: "Node") -> None:
    """A function: its body is read where it is defined."""
    reason, calls_itself = ground.functions.judge(node)
    if reason:
        ground.puzzle(reason, node)
    if calls_itself:
        ground.found.worsen("high", "a function calls itself", ground.text(node), ground.span(node))
    name = node.child_by_field_name("name")
    ground.push([child for child in node.named_children if child != name], node)


def declaration(ground: Ground, node: "Node") -> None:
    """`export` and its like, which the grammar knows as something of their own."""
    words: list[Word] = []
    for child in node.children:
        if child.type == "variable_assignment":
            value = assignment(ground, child)
            name = ground.text(child).partition("=")[0]
            known = None if value is None or value.value is None else f"{name}={value.value}"
            shape = f"{name}={value.shape if value else ''}"
            words.append(Word(known, shape, child.start_byte, child.end_byte, bool(value and value.built)))
        elif child.is_named and child.type != "variable_name":
            words.extend(ground.evaluator.words(child))
        else:
            words.append(plain_word(ground.text(child), child.start_byte, child.end_byte))
    ground.opener.command(ground.script, words, ground.scene)


def assignment(ground: Ground, node: "Node") -> Word | None:
    """Judge a variable that is set, and give back its value."""
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is not None and name.type == "subscript":
        ground.push(name.named_children, name)
    word: Word | None = plain_word("", node.end_byte, node.end_byte) if value is None else None
    if value is not None and value.type == "array":
        ground.push(value.named_children, value)
    elif value is not None:
        words = ground.evaluator.words(value)
        word = words[0] if len(words) == 1 else None
    if risk := risk_of_variable(ground.text(name) if name else "", word.value if word else None):
        ground.found.worsen(*risk, ground.text(node), ground.span(node))
    if word:
        ground.look_at(word)
    return word


def lone_assignment(ground: Ground, node: "Node") -> None:
    """A variable that is set without a command."""
    assignment(ground, node)


def test(ground: Ground, node: "Node") -> None:
    """`[ … ]` and `[[ … ]]`; only the first is a program."""
    if node.children[0].type == "[":
        bracket = plain_word("[", node.start_byte, node.start_byte + 1)
        ground.opener.command(ground.script, [bracket], ground.scene)
    ground.push(node.children, node, msgspec.structs.replace(ground.scene, tested=True))


def comment(ground: Ground, node: "Node") -> None:
    """A comment, if the shell agrees that it is one."""
    before = ground.script.source[node.start_byte - 1 : node.start_byte] if node.start_byte else b""
    if before and before not in b" \t\n;&|()":
        ground.puzzle("a comment is not understood", node)


VISITS: Mapping[str, Callable[[Ground, "Node"], None]] = {
    "command": command,
    "redirected_statement": redirected,
    "pipeline": pipeline,
    "command_substitution": substitution,
    "process_substitution": substitution,
    "function_definition": function,
    "declaration_command": declaration,
    "unset_command": declaration,
    "variable_assignment": lone_assignment,
    "test_command": test,
    "comment": comment,
    "file_redirect": lone_redirect,
    "herestring_redirect": lone_redirect,
}
