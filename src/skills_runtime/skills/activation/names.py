"""What the model calls skills by: a bare name where only one skill has it, else the mention."""

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from skills_runtime.skills.catalog import model_may_call
from skills_runtime.skills.library import Library
from skills_runtime.skills.skill import Skill

MAX_LISTED = 200
"""More names than this are not listed in the tool; they are checked when it is called."""


class Named(msgspec.Struct, frozen=True):
    """The skills a model may activate, by what it calls them."""

    skills: Mapping[str, Skill] = {}

    @property
    def listed(self) -> list[str]:
        """The names to offer, if they are few enough."""
        return sorted(self.skills) if len(self.skills) <= MAX_LISTED else []

    def find(self, name: str) -> Skill | None:
        """The skill that is called this, by its name or its mention."""
        found = self.skills.get(name)
        return found or next((one for one in self.skills.values() if one.mention.text == name), None)


class NamesNow:
    """The names of a library as it is now; they are collected anew only when its list is another one."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._listed = library.list()
        self._named = named_skills(self._listed)

    def __call__(self) -> Named:
        """The skills a model may activate by now."""
        listed = self._library.list()
        if listed is not self._listed:
            self._listed, self._named = listed, named_skills(listed)
        return self._named


def named_skills(skills: Iterable[Skill]) -> Named:
    """Those of the skills that a model may call by itself."""
    offered = [skill for skill in skills if model_may_call(skill)]
    count = Counter(skill.name for skill in offered)
    return Named({skill.name if count[skill.name] == 1 else skill.mention.text: skill for skill in offered})
