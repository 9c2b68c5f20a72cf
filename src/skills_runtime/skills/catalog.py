"""The list of available skills, for the model: as much as fits, in a fixed order, and a word on what does not.

Pure. The same skills always give the same bytes, so that a provider's cache keeps working.
"""

from collections.abc import Sequence

from skills_runtime.skills.neutral import inert
from skills_runtime.skills.skill import Skill

BUDGET = 8000
"""How many characters the list may have."""
DESCRIPTIONS = (400, 160, 80, 0)
"""How long descriptions may be; the first length that fits is taken, and 0 shows names only."""

_HEADING = "Available skills, each by the mention that calls it in a task or as `skill_mention` of a tool:"
_NOTE_CHARS = 100
"""More than the last line ever has."""


def listed(skills: Sequence[Skill], *, budget: int = BUDGET) -> str:
    """The list, or nothing when there are no skills."""
    if not skills:
        return ""
    lines: list[str] = []
    for limit in DESCRIPTIONS:
        lines = [_line(skill, limit) for skill in skills]
        whole = [_HEADING, *lines, *_note(skills, limit)]
        if _size(whole) <= budget:
            return "\n".join(whole)
    room = budget - _size([_HEADING]) - _NOTE_CHARS
    kept: list[str] = []
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return "\n".join([_HEADING, *kept, f"({len(lines) - len(kept)} more skills do not fit into this list.)"])


def _line(skill: Skill, limit: int) -> str:
    return f"- {skill.mention.text}" + (f": {_cut(skill.description, limit)}" if limit else "")


def _cut(text: str, limit: int) -> str:
    return inert(text if len(text) <= limit else text[: limit - 1].rstrip() + "…")


def _note(skills: Sequence[Skill], limit: int) -> list[str]:
    """What is said about descriptions that are not there in full."""
    if all(len(skill.description) <= limit for skill in skills):
        return []
    return [f"(Descriptions are cut to {limit} characters.)" if limit else "(Descriptions are left out for space.)"]


def _size(lines: Sequence[str]) -> int:
    return sum(len(line) + 1 for line in lines)
