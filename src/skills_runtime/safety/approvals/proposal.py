"""The rule that would have allowed a call, narrowed to exactly what somebody saw.

Pure.
"""

import re
from typing import Any, Literal

from skills_runtime.errors import ValidationFailed
from skills_runtime.ports import ApprovalRequest, Intent
from skills_runtime.safety.guard import Reading, read_argv, read_line
from skills_runtime.safety.policy import END, Rule, rule_text

Scope = Literal["run", "skill", "user"]
_SPECIAL = re.compile(r"[*?\[\]\\!]")


def proposed_rule(request: ApprovalRequest, scope: Scope) -> Rule:
    """An allow rule for this very call; raises where no rule would say exactly that."""
    intent = request.intent
    if scope == "skill" and not intent.skill:
        raise ValidationFailed("the call belongs to no skill", hint="make the rule for this run or for yourself")
    return Rule(
        effect="allow",
        name=f"approved-{request.approval_key[:12]}",
        tool=(request.tool,),
        command=_command(intent),
        path=tuple(_pattern(file.path) for file in intent.files),
        host=intent.hosts,
        skill=(intent.skill,) if intent.skill else (),
        justification="approved by hand",
    )


def as_recorded(rule: Rule, scope: Scope) -> dict[str, Any]:
    """The rule as a decision carries it."""
    return {"scope": scope, "text": f"rules:\n{rule_text(rule)}"}


def _pattern(path: str) -> str:
    """The pattern that fits this path only."""
    if _SPECIAL.search(path):
        raise _no_rule("a name in it would mean other files too")
    return path if path.startswith("/") else f"./{path.removeprefix('./')}"


def _command(intent: Intent) -> tuple[tuple[str, ...], ...]:
    if intent.typed is not None:
        raise _no_rule("what is typed into a program cannot be told beforehand")
    if intent.line is None and not intent.argv:
        return ()
    if intent.environment or intent.directory not in (".", ""):
        raise _no_rule("a rule does not say where a command starts, or with which variables")
    reading = read_line(intent.line) if intent.line is not None else read_argv(intent.argv)
    return (_words(reading),)


def _words(reading: Reading) -> tuple[str, ...]:
    if reading.unclear or reading.risk.level == "high":
        raise _no_rule(reading.unclear or reading.risk.reason)
    if len(reading.commands) != 1 or reading.writes or reading.reads:
        raise _no_rule("the line does several things")
    words = [word for word in reading.commands[0].words if word is not None]
    if len(words) != len(reading.commands[0].words):
        raise _no_rule("some of its words are known only to the shell that runs it")
    if {"*", "**", END} & set(words):
        raise _no_rule("a star or a dollar sign in a rule stands for something else")
    return (*words, END)


def _no_rule(why: str) -> ValidationFailed:
    hint = "approve it once, or write a rule yourself"
    return ValidationFailed(f"no rule can be made of this call: {why}", hint=hint)
