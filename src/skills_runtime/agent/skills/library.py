"""The skills of an agent: those it was given or those its settings name, less those that are disabled."""

import os
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from skills_runtime.agent.options import AgentOptions
from skills_runtime.errors import ConfigError

if TYPE_CHECKING:
    from skills_runtime.config import Resolved
    from skills_runtime.skills import Library


def library_for(resolved: "Resolved", options: AgentOptions, variables: Mapping[str, str]) -> "Library":
    """Return the skills as a run sees them, with the variables that people were asked for."""
    if options.library is None:
        from skills_runtime.skills import library_of  # loads all of settings, which importing an agent must not

        library = library_of(resolved, variables)
        return library.without(options.disabled_skills) if options.disabled_skills else library
    for name, value in variables.items():
        options.library.give(name, value)
    return options.library


def can_have_skills(library: "Library", resolved: "Resolved") -> bool:
    """Say whether the settings name any skills or some may be found; most runs have none."""
    return library.has_sources or bool(resolved.settings.skills.spaces)


@cache
def empty_library() -> "Library":
    """Return the library of every run that has no skills."""
    from skills_runtime.skills import Library

    return Library()


def disabled_paths(paths: Iterable[Path | str], workspace_root: Path) -> tuple[Path, ...]:
    """Return where skills lie that shall be left out; a path that leads nowhere would leave them in."""
    disabled: list[Path] = []
    for given in paths:
        path = workspace_root / Path(given).expanduser()
        if not os.path.lexists(path):
            raise ConfigError(
                f"`skills_disabled_paths` names `{given}`, which does not exist",
                hint="name a `SKILL.md`, its directory, or a directory above it",
            )
        disabled.append(path)
    return tuple(disabled)
