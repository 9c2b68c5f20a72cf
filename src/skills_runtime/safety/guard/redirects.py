"""Redirections: which files they write, which they read, and what a command is fed by them."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from skills_runtime.safety.guard.calls import Feed, Opener
from skills_runtime.safety.guard.evaluate import Evaluator
from skills_runtime.safety.guard.paths import HARMLESS_SINKS, matching, normal, reading, writing
from skills_runtime.safety.guard.syntax import Script
from skills_runtime.safety.guard.words import Word

if TYPE_CHECKING:
    from tree_sitter import Node

_READS = frozenset({"<", "<&", "<&-", ">&-"})


class Redirects:
    """The redirections of one script."""

    __slots__ = ("_evaluator", "_opener", "_script")

    def __init__(self, opener: Opener, script: Script, evaluator: Evaluator) -> None:
        self._opener = opener
        self._script = script
        self._evaluator = evaluator

    def redirect(self, node: "Node") -> tuple[Callable[[], Feed] | None, list[Word]]:
        """Judge one redirection; gives back what it feeds, and words behind it that belong to the command."""
        words: list[Word] = []
        operator = ""
        for child in node.children:
            if child.type == "file_descriptor":
                continue
            if not child.is_named and not operator:
                operator = child.type
            else:
                words.extend(self._evaluator.words(child))
        target, more = (words[0], words[1:]) if words else (None, [])
        if operator == "<<<":
            feed = Feed(target.value if target else None, (None,), (node.start_byte, node.end_byte))
            self._look_at(target)
            return (lambda: feed), more
        if operator in _READS:
            return self._read(operator, target), more
        if operator == ">&" and target and (target.shape.isdigit() or target.shape in ("-", "")):
            return None, more
        if target is not None:
            self._write(target)
        return None, more

    def _read(self, operator: str, target: Word | None) -> Callable[[], Feed] | None:
        if target is None or (operator != "<" and target.shape.strip("0123456789-") == ""):
            return None
        self._look_at(target)
        place = (target.start, target.end)
        if normal(target.shape).startswith(("/dev/tcp/", "/dev/udp/")):
            self._worsen("high", "connects over the network", target)
        if target.built:
            self._opener.found.puzzle(
                "reads a file that is only known when it runs", self._script.written(*place), self._script.span(*place)
            )
        feed = Feed(None, (None,) if target.value is None or target.process else ("cat",), place)
        return lambda: feed

    def _write(self, target: Word) -> None:
        found = self._opener.found
        path = normal(target.shape)
        if target.value is not None and (path in HARMLESS_SINKS or path.startswith("/dev/fd/")):
            return
        if target.process:
            return
        found.writes.append(target.value)
        place = (target.start, target.end)
        if target.value is None:
            found.puzzle(
                "writes a file whose name is only known when it runs",
                self._script.written(*place),
                self._script.span(*place),
            )
        if path.startswith(("/dev/tcp/", "/dev/udp/")) and path.count("/") > 3:
            found.hosts[path.split("/")[3]] = None
        self._worsen(*writing(target.shape), target)

    def _look_at(self, word: Word | None) -> None:
        if word is not None and (judgement := matching(word.shape) if word.glob else reading(word.shape)):
            self._worsen(*judgement, word)

    def _worsen(self, level, reason, word: Word) -> None:
        place = (word.start, word.end)
        self._opener.found.worsen(level, reason, self._script.written(*place), self._script.span(*place))
