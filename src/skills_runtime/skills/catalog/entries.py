"""One skill as a line of the list: its mention, and as much of its description as there is room for.

Pure. What a skill says becomes one line that can neither begin nor end anything around it.
"""

import re
from collections.abc import Sequence

import msgspec

from skills_runtime.skills.catalog.fields import model_may_call, short_description, when_to_use
from skills_runtime.skills.skill import Skill
from skills_runtime.text import escape_attribute, one_line

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
