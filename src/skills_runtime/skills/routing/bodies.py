"""The index over the skills of a library, their bodies included while there are not too many of them."""

from skills_runtime.skills.library import Library
from skills_runtime.skills.problems import SkillError
from skills_runtime.skills.routing.index import Body, SkillIndex, index_of
from skills_runtime.skills.skill import Skill

MAX_BODIES = 1000
"""With more skills than this only what they say of themselves is looked at: reading them all would take seconds."""


def body_of(library: Library) -> Body:
    """Reads the bodies of a library; one that cannot be read is empty, for the rest of the skill still counts."""

    def read(skill: Skill) -> str:
        try:
            return library.body(skill)
        except SkillError:
            return ""

    return read


def index_for(library: Library, *, max_bodies: int = MAX_BODIES) -> SkillIndex:
    """The index over a library."""
    skills = library.list()
    return index_of(skills, body=body_of(library) if len(skills) <= max_bodies else None)
