"""Functions that a script defines: a name that means what the script says, and nothing else."""

from typing import TYPE_CHECKING

from skills_runtime.safety.guard.judges import judge_for
from skills_runtime.safety.guard.programs import is_known
from skills_runtime.safety.guard.syntax import Script
from skills_runtime.safety.guard.words import Word

if TYPE_CHECKING:
    from tree_sitter import Node


class Functions:
    """The functions of one script."""

    __slots__ = ("_defined", "_script")

    def __init__(self, script: Script) -> None:
        self._script = script
        self._defined: dict[str, int] = {}
        """Where the definition of each ends, for those that are defined in any case."""
        text = script.text
        if ("()" in text or "function" in text) and "unset" not in text:
            for node in script.root.named_children:
                if node.type == "function_definition":
                    self._defined[self._name(node)] = node.end_byte

    def calls(self, word: Word, node: "Node") -> bool:
        """Whether a command is a call of a function that has been read."""
        end = self._defined.get(word.value or "")
        return end is not None and not _shadows(word.value or "") and node.start_byte >= end

    def judge(self, node: "Node") -> tuple[str, bool]:
        """What is not understood about a definition, and whether it calls itself."""
        name = self._name(node)
        body = self._script.source[node.start_byte : node.end_byte].decode(errors="replace")
        itself = body.replace("()", "", 1).count(name) > 2 or (name == ":" and body.count(":") > 2)
        reason = "a function takes the name of a program" if _shadows(name) else ""
        return reason, itself and self._runs(node, name)

    def _runs(self, node: "Node", name: str) -> bool:
        stack = node.named_children
        while stack:
            inner = stack.pop()
            if inner.type == "command_name" and self._script.written(inner.start_byte, inner.end_byte) == name:
                return True
            stack.extend(inner.named_children)
        return False

    def _name(self, node: "Node") -> str:
        name = node.child_by_field_name("name")
        return self._script.written(name.start_byte, name.end_byte) if name else ""


def _shadows(name: str) -> bool:
    return is_known(name) or judge_for(name) is not None or not name.isidentifier()
