"""What is different between two searches.

Pure.
"""

from collections.abc import Sequence

import msgspec

from skills_runtime.skills.library import Library
from skills_runtime.skills.problems import Problem
from skills_runtime.skills.skill import Skill


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """What is new since the last search, and the library that has it."""

    library: Library
    added: tuple[Skill, ...] = ()
    changed: tuple[Skill, ...] = ()
    removed: tuple[Skill, ...] = ()
    problems: tuple[Problem, ...] = ()
    """What is wrong now and was not before."""

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed or self.problems)


def changes_between(before: Library, after: Library) -> Changes:
    """What somebody who knows the one library has to learn about the other."""
    old, new = map(_by_place, _less_the_same(before.list(), after.list()))
    known = {repr(problem) for problem in before.problems()}
    return Changes(
        library=after,
        added=tuple(skill for place, skill in new.items() if place not in old),
        changed=tuple(skill for place, skill in new.items() if place in old and old[place] != skill),
        removed=tuple(skill for place, skill in old.items() if place not in new),
        problems=tuple(problem for problem in after.problems() if repr(problem) not in known),
    )


def _less_the_same(old: Sequence[Skill], new: Sequence[Skill]) -> tuple[Sequence[Skill], Sequence[Skill]]:
    """What is left of both, where mostly one or two of thousands have changed and all others stand as they stood."""
    if len(old) != len(new):
        return old, new
    pairs = [(one, other) for one, other in zip(old, new, strict=True) if one is not other and one != other]
    return [one for one, _ in pairs], [other for _, other in pairs]


def _by_place(skills: Sequence[Skill]) -> dict[tuple[str, str, str], Skill]:
    """A skill is the same as long as its name and its place are."""
    return {(skill.namespace, skill.name, skill.locator): skill for skill in skills}
