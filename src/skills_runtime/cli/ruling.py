"""The rules an approver may add, and the arguments they may put in the place of others.

Pure.
"""

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from skills_runtime.errors import ValidationFailed
from skills_runtime.ports import ApprovalRequest
from skills_runtime.safety.approvals.proposal import Scope, proposed_rule
from skills_runtime.safety.policy import Rule
from skills_runtime.safety.policy.rule import ANY_WORDS, ONE_WORD

_WILD = frozenset("*?[\\")
"""What means something else than itself in the path of a rule."""
SCOPE_WORDS: Mapping[str, Scope] = {"run": "run", "skill": "skill", "you": "user"}
"""How far a rule reaches, as people say it."""


def rule_of(request: ApprovalRequest, scope: Scope) -> Rule:
    """The rule that allows a call from now on; raises where there is none."""
    if request.risk.get("level") == "high":
        raise _no_rule("it is of high risk")
    rule = proposed_rule(request, scope)
    words = {word for words in rule.command for word in words}
    if words & {ONE_WORD, ANY_WORDS} or any(_WILD & set(path) for path in rule.path):
        raise _no_rule("it has characters that stand for others in a rule")
    return rule


def _no_rule(why: str) -> ValidationFailed:
    hint = "approve it once, or write a rule yourself"
    return ValidationFailed(f"no rule can be made of this call: {why}", hint=hint)


def rules_of(request: ApprovalRequest, *, lasting: bool = True) -> dict[str, Rule]:
    """The rules that can be made of a call, by how far they reach; `lasting` ones outlive the run."""
    beyond = "skill" if request.intent.skill else "you"  # a rule for a skill's action holds for that skill only
    try:
        return {word: rule_of(request, SCOPE_WORDS[word]) for word in (("run", beyond) if lasting else ("run",))}
    except ValidationFailed:
        return {}


def why_no_rule(request: ApprovalRequest) -> str:
    """Why no rule can be made of a call."""
    try:
        rule_of(request, "run")
    except ValidationFailed as error:
        return f"{error.message}; {error.hint}"
    return ""


def read_arguments(text: str) -> dict[str, Any]:
    """Arguments that somebody typed, or wrote to a file."""
    hint = 'write an object, such as {"path": "notes.md"}'
    try:
        arguments: Any = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise ValidationFailed(f"the arguments are not JSON: {error}", hint=hint) from None
    if not isinstance(arguments, dict):
        raise ValidationFailed("the arguments are not a JSON object", hint=hint)
    return cast("dict[str, Any]", arguments)


def line_argument(request: ApprovalRequest) -> str | None:
    """The name of the argument that is a line of shell, where there is just one."""
    line = request.intent.line
    names = [name for name, value in request.details.items() if line is not None and value == line]
    return names[0] if len(names) == 1 else None
