"""The skills of an agent: those it was given or those its settings name, less those that are left out."""

import os
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from skills_runtime.agent.equipment import Equipment
from skills_runtime.agent.skills.libraries import library_of
from skills_runtime.errors import ConfigError

if TYPE_CHECKING:
    from skills_runtime.config import Resolved
    from skills_runtime.skills import Library
    from skills_runtime.skills.discovery.nothing import Nothing


def library_for(resolved: "Resolved", equipment: Equipment, variables: Mapping[str, str]) -> "Library":
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


class Seen:
    """Whether an agent can have any skills at all; asked for every run, and mostly there are none."""

    def __init__(self, resolved: "Resolved", equipment: Equipment) -> None:
        self._resolved = resolved
        self._given = equipment.library is not None
        self._nothing: Nothing | None = None

    def __call__(self) -> bool:
        """The answer, from the disk where it may have changed since somebody asked last."""
        if self._given:
            return True
        nothing = self._nothing  # another thread may look at the same time, and find something
        if nothing is not None and nothing.holds():
            return False
        found, self._nothing = _looked(self._resolved)
        return found


def names_skills(resolved: "Resolved") -> bool:
    """Whether the settings name skills, or there is a place where some may be found."""
    return _looked(resolved)[0]


def _looked(resolved: "Resolved") -> "tuple[bool, Nothing | None]":
    skills = resolved.settings.skills
    if skills.spaces or not skills.discovery.enabled:
        return bool(skills.spaces), None
    from skills_runtime.skills.discovery import places_of
    from skills_runtime.skills.discovery.nothing import looked_for_nothing

    return looked_for_nothing(places_of(resolved.workspace_root, resolved.environment.process), skills)


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
