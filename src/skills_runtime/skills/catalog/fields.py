"""What the front matter of a skill says about who may call it and how it wants to be listed.

Pure. Fields that clients have in common are read whether they stand at the top or below `metadata`.
"""

from collections.abc import Mapping
from typing import Any, cast

from skills_runtime.skills.skill import Skill

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
