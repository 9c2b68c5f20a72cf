"""Names of skills where only the list of a library is at hand: the same name means the same skill as in the library.

Pure.
"""

from skills_runtime.skills.precedence import DISCOVERED, PLUGIN_LEVEL, ambiguous, standing, unknown_name
from skills_runtime.skills.problems import Problem, SkillError
from skills_runtime.skills.skill import Mention, Skill
from skills_runtime.skills.unknown import unknown

_PLUGIN = "plugin:"


class Listed:
    """Skills of a list, by name; what a nearer skill hides is on no list, so only plugins are farther than the rest."""

    def __init__(self, skills: tuple[Skill, ...]) -> None:
        self._skills = skills

    def list(self) -> tuple[Skill, ...]:
        """Every skill of the list."""
        return self._skills

    def problems(self) -> tuple[Problem, ...]:
        """Nothing: a list tells only of what works."""
        return ()

    def find(self, mention: Mention) -> Skill:
        """The skill of an exact mention."""
        found = [one for one in self._skills if one.name == mention.name and one.namespace == mention.namespace]
        if len(found) != 1:
            raise unknown(mention, (), ())
        return found[0]

    def find_by_name(self, name: str) -> Skill:
        """The one skill of this name; none and several are a `SkillError`."""
        namespace, _, own = name.rpartition(":")
        if namespace:
            for known in (namespace, f"{_PLUGIN}{namespace}"):
                if any(one.namespace == known for one in self._skills):
                    return self.find(Mention(known, own))
        named = [one for one in self._skills if one.name == name]
        if not named:
            raise unknown_name(name, (), ())
        meant = standing((_level(one), one) for one in named).meant
        if len(meant) > 1:
            raise SkillError(ambiguous(name, meant))
        return meant[0]


def _level(skill: Skill) -> int:
    from_plugin = skill.space_id == DISCOVERED and skill.namespace.startswith(_PLUGIN)
    return PLUGIN_LEVEL if from_plugin else 0
