"""The index over the skills of a library, their bodies included while there are not too many of them."""

from pathlib import Path

from skills_runtime.skills.library import Library
from skills_runtime.skills.problems import SkillError
from skills_runtime.skills.routing.index import Body, SkillIndex, index_of
from skills_runtime.skills.routing.kept import identity, packed
from skills_runtime.skills.routing.store import file_for, load, save
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


def index_for(library: Library, *, max_bodies: int = MAX_BODIES, kept_in: Path | None = None) -> SkillIndex:
    """The index over a library; what is kept in that directory is not read again, and what is new is kept there."""
    skills = library.list()
    with_body = len(skills) <= max_bodies
    body = body_of(library) if with_body else None
    # Without a digest of its text nobody can tell whether the body of a skill is still the same.
    if kept_in is None or (with_body and not all(skill.content_hash for skill in skills)):
        return index_of(skills, body=body)
    file = file_for(kept_in, skills)
    kept = load(file)
    index = index_of(skills, body=body, kept=kept)
    if any(identity(skill, with_body=with_body) not in kept for skill in skills):
        save(file, packed(skills, index.documents, with_body=with_body))
    return index
