"""Where installed skills, their lock file and what belongs to them are kept, for a project and for a user."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from skills_runtime.config import state_home
from skills_runtime.config.environment import home, process_environ
from skills_runtime.errors import ValidationFailed

Scope = Literal["project", "user"]

PROJECT_LOCK = "skills-lock.json"
USER_LOCK = ".skill-lock.json"
STAGING = ".skills-staging"


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """The directories and files of one scope."""

    scope: Scope
    root: Path
    """The project, or the home of the user."""
    skills: Path
    """Each installed skill is a directory in it."""
    lock: Path
    store: Path
    """Every version that was ever installed, by its digest; it may be deleted at any time."""
    state: Path
    """What the user consented to, and which versions came before."""

    @property
    def staging(self) -> Path:
        """Where new versions are made ready, on the same disk as the skills."""
        return self.skills.parent / STAGING


def project_places(root: Path, environ: Mapping[str, str] | None = None) -> Places:
    """The places of a project; its directory of skills must be inside of it."""
    real = Path(os.path.realpath(root))
    skills = Path(os.path.realpath(real / ".agents" / "skills"))
    if not skills.is_relative_to(real) or skills == real:
        raise ValidationFailed(
            f"`.agents/skills` of `{root}` leads out of the project, to `{skills}`",
            hint="replace the link by a directory, or install for the user with `--scope user`",
        )
    return Places(
        scope="project",
        root=real,
        skills=skills,
        lock=real / PROJECT_LOCK,
        store=_store(environ),
        state=_state(environ),
    )


def user_places(environ: Mapping[str, str] | None = None) -> Places:
    """The places of the user, which all projects share."""
    process = process_environ(environ)
    mine = home(process)
    agents = mine / ".agents"
    named = process.get("XDG_STATE_HOME", "")
    lock = Path(named) / "skills" / USER_LOCK if Path(named).is_absolute() else agents / USER_LOCK
    skills = Path(os.path.realpath(agents / "skills"))
    return Places(scope="user", root=mine, skills=skills, lock=lock, store=_store(environ), state=_state(environ))


def _store(environ: Mapping[str, str] | None) -> Path:
    process = process_environ(environ)
    named = process.get("XDG_CACHE_HOME", "")
    cache = Path(named) if Path(named).is_absolute() else home(process) / ".cache"
    return cache / "skills_runtime" / "skill-store"


def _state(environ: Mapping[str, str] | None) -> Path:
    return state_home(environ) / "skills"
