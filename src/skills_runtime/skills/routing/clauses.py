"""Takes a description apart: what the skill is for, and what it says it is not for.

Pure. `Not for X`, `do not use when X` and `for X, see other-skill` speak of tasks that belong elsewhere.
"""

import re

import msgspec

_NOT_FOR = re.compile(
    r"\b(?:do not|don'?t|does not|never|not|avoid)\s+"
    r"(?:use|using|trigger|activate|invoke|apply|for|when|intended|suitable|meant|to be used)\b[^.;!?\n。；！]*"
    r"|\b(?:distinct from|unlike|as opposed to|rather than|instead of|excluding|except for)\b[^.;!?\n,]*"
    r"|(?:不适用于|不要用于|不用于|请勿用于|不适合)[^。；！\n]*",
    re.IGNORECASE,
)

_ELSEWHERE = re.compile(
    r"\bfor\s[^.;\n]{3,160}?,?\s(?:see|use)\s(?:the\s)?[`'\"$]?[a-z0-9]+(?:-[a-z0-9]+)+[^.;\n]*", re.IGNORECASE
)
_OTHER_SKILL = re.compile(r"\b(?:see|use) (?:the )?[`'\"$]?[a-z0-9]+-[a-z0-9]", re.IGNORECASE)

_SIGNS = (
    *("not ", "n't ", "dont ", "never ", "avoid ", "distinct from", "unlike ", "as opposed", "rather than"),
    *("instead of", "excluding ", "except for", " see ", ", use ", "不", "勿"),
)
"""A description without any of these rules nothing out."""


class Clauses(msgspec.Struct, frozen=True):
    """The two halves of a description."""

    meant: str
    excluded: str


def clauses_of(description: str) -> Clauses:
    """The description without what it rules out, and what it rules out."""
    small = description.lower()
    if not any(sign in small for sign in _SIGNS):
        return Clauses(description, "")
    patterns = (_ELSEWHERE, _NOT_FOR) if _OTHER_SKILL.search(description) else (_NOT_FOR,)
    excluded: list[str] = []
    for pattern in patterns:
        excluded += pattern.findall(description)
        description = pattern.sub(" ", description)
    return Clauses(description, " ".join(excluded))
