"""Redirections: which files they write, which they read, and what a command is fed by them."""

from typing import TYPE_CHECKING

import msgspec

from skills_runtime.safety.guard.calls import Feed, Scene
from skills_runtime.safety.guard.ground import SILENT, WORDS, Ground
from skills_runtime.safety.guard.heredocs import heredoc_of
from skills_runtime.safety.guard.paths import HARMLESS_SINKS, normal, writing
from skills_runtime.safety.guard.words import HOLE, Word

if TYPE_CHECKING:
    from tree_sitter import Node

_READS = frozenset({"<", "<&", "<&-", ">&-"})
_NETWORK = ("/dev/tcp/", "/dev/udp/")


def redirect(ground: Ground, node: "Node", scene: Scene) -> tuple[Scene, list[Word]]:
    """Judge one redirection; gives back the scene behind it, and words that belong to the command."""
    words: list[Word] = []
    operator = ""
    for child in node.children:
        if child.type == "file_descriptor":
            continue
        if not child.is_named and not operator:
            operator = child.type
        else:
            words.extend(ground.evaluator.words(child))
    if not words:
        return scene, []
    target, more = words[0], words[1:]
    if operator == "<<<":
        ground.look_at(target)
        return fed(scene, Feed(target.value, (None,), (node.start_byte, node.end_byte))), more
    if operator in _READS:
        return _read(ground, operator, target, scene), more
    if operator != ">&" or not (target.shape.isdigit() or target.shape == "-"):
        _write(ground, target)
    return scene, more


def fed(scene: Scene, feed: Feed) -> Scene:
    """The same scene, with something on the standard input."""
    return msgspec.structs.replace(scene, feed=lambda: feed)


def _read(ground: Ground, operator: str, target: Word, scene: Scene) -> Scene:
    if operator != "<" and not target.shape.strip("0123456789-"):
        return scene
    ground.look_at(target)
    if not target.process:
        _note_read(ground, target)
    if normal(target.shape).startswith(_NETWORK):
        _note_host(ground, normal(target.shape))
        ground.found.worsen("high", "connects over the network", *ground.place_of(target))
    if target.built:
        ground.found.puzzle("reads a file that is only known when it runs", *ground.place_of(target))
    known = target.value is not None and not target.process
    return fed(scene, Feed(None, ("cat",) if known else (None,), (target.start, target.end)))


def _note_read(ground: Ground, target: Word) -> None:
    """Take note of the file; of a name that is not certain, of what is written of it too."""
    ground.found.reads.append(target.value)
    if target.value is None and target.shape != HOLE:
        ground.found.reads.append(target.shape.replace(HOLE, "*"))


def _note_host(ground: Ground, path: str) -> None:
    if path.count("/") > 3:
        ground.found.hosts[path.split("/")[3]] = None


def _write(ground: Ground, target: Word) -> None:
    path = normal(target.shape)
    if target.process or (target.value is not None and (path in HARMLESS_SINKS or path.startswith("/dev/fd/"))):
        return
    ground.found.writes.append(target.value)
    if target.value is None:
        ground.found.puzzle("writes a file whose name is only known when it runs", *ground.place_of(target))
    if path.startswith(_NETWORK):
        _note_host(ground, path)
    ground.found.worsen(*writing(target.shape), *ground.place_of(target))


def heredoc(ground: Ground, node: "Node", body: "Node | None", scene: Scene) -> Scene:
    """Read a here-document, and the rest of the line that its grammar holds."""
    document = heredoc_of(node, ground.script)
    if not document.understood:
        ground.puzzle("a here-document is not understood", node)
    for code in document.backquoted:
        ground.opener.code(ground.script, code, document.place, scene.deeper())
    feed = Feed(document.text, (None,), document.place)
    copies = body is not None and body.type == "command" and body.text == b"cat"
    passed = fed(scene, feed if copies else Feed(None, (None,), document.place))
    for child in node.children:
        if child.type == "pipeline":
            ground.push(child.named_children, child, passed)
        elif child.type in ("file_redirect", "herestring_redirect"):
            _, more = redirect(ground, child, scene)
            if more:
                ground.puzzle("words follow a redirection", child)
        elif child.type in WORDS:
            ground.puzzle("words follow a redirection", node)
        elif child.is_named and child.type not in SILENT:
            ground.stack.append((child, scene))
    return fed(scene, feed)
