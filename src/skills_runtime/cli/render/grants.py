"""What a rule would allow, in words that say exactly that.

Pure.
"""

import shlex
from collections.abc import Iterable

from skills_runtime.cli.render.text import one_line
from skills_runtime.safety.approvals.proposal import Scope
from skills_runtime.safety.policy import END, Rule


def grant_of(rule: Rule, scope: Scope) -> str:
    """The calls that a rule allows, and where."""
    words = [
        f"{_quoted(rule.tool)} {_commands(rule)}" if rule.command else f"calls of {_quoted(rule.tool)}",
        f"on {_quoted(rule.path)}" if rule.path else "",
        f"to {_quoted(rule.host)}" if rule.host else "",
        f"by the skill {_quoted(rule.skill)}" if rule.skill else "",
        "in this run" if scope == "run" else "in all your runs",
    ]
    return one_line(" ".join(filter(None, words)))


def _commands(rule: Rule) -> str:
    exact = all(words[-1:] == (END,) for words in rule.command)
    shown = _quoted(shlex.join(word for word in words if word != END) for words in rule.command)
    return f"commands that are exactly {shown}" if exact else f"commands that begin with {shown}"


def _quoted(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)
