"""The skills of an agent: those it was given or those its settings name, less those that are left out."""

import os
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from skills_runtime.agent.options import AgentOptions
from skills_runtime.agent.skills.libraries import library_of
from skills_runtime.errors import ConfigError

if TYPE_CHECKING:
    from skills_runtime.config import Resolved
    from skills_runtime.skills import Library


def library_for(resolved: "Resolved", equipment: AgentOptions, variables: Mapping[str, str]) -> "Library":
    """The skills as a run sees them, with the variables that somebody has told us."""
    if equipment.library is None:
        return library_of(resolved, variables).without(equipment.disabled_skills)
    for name, value in variables.items():
        equipment.library.give(name, value)
    return equipment.library


@cache
def no_skills() -> "Library":
    """The library of every run that has none."""
    from skills_runtime.skills import Library

    return Library()


def names_skills(resolved: "Resolved") -> bool:
    """Whether the settings name skills, or there is a place where some may be found."""
    skills = resolved.settings.skills
    if skills.spaces or not skills.discovery.enabled:
        return bool(skills.spaces)
    from skills_runtime.skills.discovery import discover, places_of

    return bool(discover(places_of(resolved.workspace_root, resolved.environment.process), skills).roots)


def skill_notices(resolved: "Resolved") -> tuple[str, ...]:
    """What somebody should know about skills that are there and not used."""
    from skills_runtime.skills.discovery import discover, places_of

    skills = resolved.settings.skills
    if not skills.discovery.enabled:
        return ()
    found = discover(places_of(resolved.workspace_root, resolved.environment.process), skills)
    return tuple(f"{one.message}; {one.hint}" for one in found.problems)


def left_out(paths: Iterable[Path | str], workspace_root: Path) -> tuple[Path, ...]:
    """Where the skills lie that shall be left out; a path that leads nowhere would leave them in."""
    found: list[Path] = []
    for path in paths:
        place = workspace_root / Path(path).expanduser()
        if not os.path.lexists(place):
            raise ConfigError(
                f"`skills_disabled_paths` names `{path}`, which does not exist",
                hint="name a `SKILL.md`, its directory, or a directory above it",
            )
        found.append(place)
    return tuple(found)
