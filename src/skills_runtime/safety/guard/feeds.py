"""What comes out of one side of a pipe and goes into the other."""

from typing import TYPE_CHECKING

from skills_runtime.safety.guard.bindings import Bindings
from skills_runtime.safety.guard.calls import Feed
from skills_runtime.safety.guard.evaluate import Evaluator
from skills_runtime.safety.guard.findings import Findings
from skills_runtime.safety.guard.names import program_name
from skills_runtime.safety.guard.syntax import Script
from skills_runtime.safety.guard.words import Word

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_NODES = 400
_WRAPPERS = frozenset({"command", "builtin", "time", "env", "nohup", "exec"})


def feed_of(script: Script, stages: "list[Node]", bindings: Bindings) -> Feed:
    """What the stages of a pipeline write: their programs, and the text when one `echo` is all there is."""
    evaluator = Evaluator(script, bindings, Findings(), _ignore)
    programs: list[str | None] = []
    place = (stages[0].start_byte, stages[-1].end_byte)
    stack, seen = list(stages), 0
    while stack:
        node = stack.pop()
        seen += 1
        if seen > _MAX_NODES:
            return Feed(None, (None,), place)
        if node.type == "command" and (name := node.child_by_field_name("name")):
            words = evaluator.words(name)
            known = words[0].value if words else None
            programs.append(None if known is None or known in _WRAPPERS else program_name(known))
        stack.extend(node.named_children)
    only = stages[0] if len(stages) == 1 and stages[0].type == "command" else None
    return Feed(
        _echoed(only, evaluator) if only and programs[:1] in (["echo"], ["printf"]) else None, tuple(programs), place
    )


def _ignore(node: "Node") -> None:
    """Whatever is inside is read where it stands."""


def _echoed(node: "Node", evaluator: Evaluator) -> str | None:
    words: list[Word] = []
    for argument in node.children_by_field_name("argument"):
        words.extend(evaluator.words(argument))
    name = node.child_by_field_name("name")
    printing = name is not None and name.text is not None and name.text.endswith(b"printf")
    texts = [word.value for word in words]
    if not printing and texts[:1] == ["-n"]:
        texts = texts[1:]
    if any(text is None or "\\" in text.removesuffix("\\n") for text in texts) or (
        texts and (texts[0] or "").startswith("-")
    ):
        return None
    if not printing:
        return " ".join(text or "" for text in texts)
    if len(texts) == 1 and "%" not in (texts[0] or ""):
        return (texts[0] or "").removesuffix("\\n")
    return texts[1] if len(texts) == 2 and texts[0] in ("%s", "%s\\n") else None
