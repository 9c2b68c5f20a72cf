"""Which skills a model called, as the log of its run tells it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime.events import Event
from skills_runtime.events.payloads import ToolCallRequested
from skills_runtime.runs import RunPaths, read_events
from skills_runtime.skills.skill import Skill

MAX_STEPS = 3
"""A model that has not called a skill after so many answers is not going to."""
_NOT_CALLED = ("skipped", "offered", "listed", "routed", "discovered", "shadowed", "unloaded")
_NAMES = ("skill_name", "skill", "name", "skill_mention", "mention_text")


def called_in(root: Path, skills: Sequence[Skill]) -> tuple[str, ...]:
    """The names of the skills that the run at this place made use of, the first first."""
    events = read_events(RunPaths(root))
    return tuple(dict.fromkeys(skill.name for event in events for skill in skills if calls_it(event, skill)))


def calls_it(event: Event, skill: Skill) -> bool:
    """Whether an event tells that the skill became part of the run, or that the model asked for it."""
    if event.type.startswith("skill_"):
        return not event.type.endswith(_NOT_CALLED) and _named(msgspec.to_builtins(event.payload), skill)
    if not isinstance(event.payload, ToolCallRequested):
        return False
    if "skill" in event.payload.name:
        return _named(event.payload.arguments, skill)
    return any(isinstance(value, str) and _inside(value, skill) for value in event.payload.arguments.values())


def _named(fields: Mapping[str, Any], skill: Skill) -> bool:
    names = {skill.name, skill.mention.text, f"{skill.namespace}:{skill.name}", f"{skill.namespace}.{skill.name}"}
    return any(isinstance(value := fields.get(name), str) and value in names for name in _NAMES)


def _inside(value: str, skill: Skill) -> bool:
    """Whether a file of the skill is read or run."""
    return skill.directory is not None and str(skill.directory) in value
