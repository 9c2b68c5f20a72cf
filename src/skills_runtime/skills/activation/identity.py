"""What tells one version of a skill from another."""

import hashlib

from skills_runtime.skills.skill import Skill


def identity_of(skill: Skill, body: str) -> str:
    """The digest of what a skill says: its name, its description and its text."""
    return hashlib.sha256(f"{skill.mention.text}\n{skill.description}\n{body}".encode(errors="replace")).hexdigest()
