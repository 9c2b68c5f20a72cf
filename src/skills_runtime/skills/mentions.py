"""Finds mentions of skills: every legal one in free text, or exactly one as the argument of a tool.

Pure. What is not a legal mention is ordinary text.
"""

import re

from skills_runtime.skills.problems import failure
from skills_runtime.skills.skill import Mention

_SEGMENT = "[a-z0-9][a-z0-9-]{0,62}[a-z0-9]"
_NAMESPACE = f"{_SEGMENT}(?::{_SEGMENT}){{0,6}}"
NAME = "[a-z0-9][a-z0-9_-]{0,62}[a-z0-9]"
"""What a skill may be called, as a regular expression."""
_MENTION = re.compile(rf"\$\[(?P<namespace>{_NAMESPACE})\]\.(?P<name>{NAME})")
# A name that goes on in a way no name can, or that a bracket closes, is not a name.
IN_TEXT = re.compile(rf"{_MENTION.pattern}(?![_-]*[A-Za-z0-9\]])")
"""An exact mention in the middle of a text."""
_WHOLE_NAME = re.compile(NAME)
_WHOLE_NAMESPACE = re.compile(_NAMESPACE)

_SHOWN_CHARS = 80


def is_name(text: str) -> bool:
    """Whether a skill may be called so."""
    return _WHOLE_NAME.fullmatch(text) is not None


def without_mention(name: str) -> str:
    """What to say of a skill whose name no exact mention can have."""
    return f"no exact mention can say its name; write `${name}` or `/{name}`"


def is_namespace(text: str) -> bool:
    """Whether the text is one to seven segments joined by colons."""
    return _WHOLE_NAMESPACE.fullmatch(text) is not None


def mentions_in(text: str) -> list[Mention]:
    """The skills that free text mentions, each once, in the order of their first mention."""
    if "$[" not in text:
        return []
    found = (Mention(match["namespace"], match["name"]) for match in IN_TEXT.finditer(text))
    return list(dict.fromkeys(found))


def parse_mention(text: str) -> Mention:
    """The one mention that the whole text is; anything around it is an error."""
    match = _MENTION.fullmatch(text)
    if match is None:
        shown = text[:_SHOWN_CHARS] + ("…" if len(text) > _SHOWN_CHARS else "")
        raise failure(
            "SKILL_MENTION_FORMAT_INVALID",
            f"{shown!a} is not the mention of a skill",
            hint="write exactly one, such as `$[web:mvp].article-writer`",
        )
    return Mention(match["namespace"], match["name"])
