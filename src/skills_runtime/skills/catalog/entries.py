"""What the list of skills says of one skill: the fields it goes by, its line, and how many tokens a text has.

Pure. What a skill says becomes one line that can neither begin nor end anything around it.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from skills_runtime.skills.skill import Skill
from skills_runtime.text import escape_attribute, one_line

_YES = frozenset(("true", "yes", "on", "1"))
_NO = frozenset(("false", "no", "off", "0"))


def model_may_call(skill: Skill) -> bool:
    """Whether the model is told of the skill; one that says `disable-model-invocation` is for people only."""
    return _said(skill, "disable-model-invocation") not in _YES


def people_may_call(skill: Skill) -> bool:
    """Whether people call the skill by name; one that says `user-invocable: false` is for the model only."""
    return _said(skill, "user-invocable") not in _NO


def wants_own_run(skill: Skill) -> bool:
    """Whether a run of its own works on the skill; it says `context: fork`."""
    return skill.metadata.get("context") == "fork"


def when_to_use(skill: Skill) -> str:
    """What it says about when to use it, beyond its description."""
    return _field(skill, "when_to_use") or _field(skill, "when-to-use")


def short_description(skill: Skill) -> str:
    """Its own short form of the description, if it has one."""
    return _field(skill, "short-description") or _field(skill, "short_description")


def _said(skill: Skill, name: str) -> str:
    return (_field(skill, name) or _field(skill, name.replace("-", "_"))).strip().lower()


def _field(skill: Skill, name: str) -> str:
    if not skill.metadata:
        return ""
    value: Any = skill.metadata.get(name)
    if value is None:
        inner = skill.metadata.get("metadata")
        value = cast("Mapping[str, Any]", inner).get(name) if isinstance(inner, Mapping) else None
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else ""


MAX_DESCRIPTION_CHARS = 1536
"""The longest description that is ever shown; one skill must not fill the list alone."""

_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？]")
_SENTENCE_SHARE = 0.6
"""How much of the room a whole sentence has to fill to be preferred to a few more words."""
_WORD_SHARE = 0.5


class Entry(msgspec.Struct, frozen=True):
    """What the list can say of one skill."""

    mention: str
    text: str
    """All it says about what it does and when to use it."""
    short: str = ""
    """Its own short form, used where there is no room for everything."""

    def line(self, limit: int) -> str:
        """The line with at most so many characters of description; without any it is the name alone."""
        if limit <= 0 or not self.text:
            return f"- {self.mention}"
        return f"- {self.mention}: {escape_attribute(self.shown(limit))}"

    def shown(self, limit: int) -> str:
        """The description within a number of characters."""
        if len(self.text) <= limit:
            return self.text
        return cut(self.short or self.text, limit)

    def is_shortened(self, limit: int) -> bool:
        """Whether the line says less than the skill does."""
        return len(self.text) > limit


def entries_of(skills: Sequence[Skill]) -> list[Entry]:
    """The skills that a model may be told of, in the order of their mentions, whatever order they come in."""
    told = sorted((skill for skill in skills if model_may_call(skill)), key=lambda skill: (skill.namespace, skill.name))
    return [_entry(skill) for skill in told]


def cut(text: str, limit: int) -> str:
    """The beginning of a text: whole sentences if they nearly fill the room, else whole words and a mark."""
    if len(text) <= limit:
        return text
    room = text[: limit - 1]
    ends = [match.end() for match in _SENTENCE_END.finditer(text[:limit])]
    if ends and ends[-1] >= limit * _SENTENCE_SHARE:
        return text[: ends[-1]]
    space = room.rfind(" ")
    broken = text[limit - 1] != " " and space >= limit * _WORD_SHARE
    return (room[:space] if broken else room).rstrip(" ,;:-") + "…"


def _entry(skill: Skill) -> Entry:
    description = one_line(skill.description)
    when = one_line(when_to_use(skill))
    text = f"{description} Use when: {when}" if when and when not in description else description
    return Entry(escape_attribute(skill.mention.text), text, one_line(short_description(skill)))


_PIECE = re.compile(r"[A-Za-z]+|[0-9]+|[^\w\s]|_+|[^\W\d_A-Za-z]+|\n")
_LETTERS = 7
"""How many letters of an English word make one token."""
_DIGITS = 3
_FOREIGN_BYTES = 3
"""How many bytes of other scripts make one token: about one character of Chinese, less than two of Cyrillic."""


def tokens_of(text: str) -> int:
    """About how many tokens the text has; of two texts together it is the sum."""
    return sum(map(_tokens, _PIECE.findall(text)))


def _tokens(piece: str) -> int:
    if not piece.isascii():
        return -(-len(piece.encode(errors="replace")) // _FOREIGN_BYTES)
    if piece.isalpha():
        return -(-len(piece) // _LETTERS)
    return -(-len(piece) // _DIGITS)
