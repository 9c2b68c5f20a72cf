"""Every directory that skills may be in, the nearest first: of the project, of the user, of the system.

Pure: nothing is looked at here.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from skills_runtime.skills.discovery.names import project_namespace
from skills_runtime.skills.discovery.places import Places

if TYPE_CHECKING:
    from skills_runtime.config.skill_models import SkillDiscovery

Scope = Literal["project", "user", "system"]

CLIENTS: tuple[str, ...] = (
    "claude",
    "codex",
    "cursor",
    "github",
    "gemini",
    "opencode",
    "goose",
    "openhands",
    "copilot",
)
"""Other programs, by the names of their directories."""
SHARED = ".agents/skills"
"""The directory that all programs agree on."""
PROJECT_LEVEL, USER_LEVEL, SYSTEM_LEVEL, PACKAGE_LEVEL = 10, 1000, 2000, 2001
_PER_DIRECTORY = 2
"""A directory up in the project has a level for what is meant for everybody, and one for other programs."""


class Root(msgspec.Struct, frozen=True, kw_only=True):
    """A directory that skills may be in."""

    path: str
    scope: Scope
    namespace: str
    level: int
    label: str
    """Where it is, in a word or two."""


def project_roots(places: Places, project: Path, settings: "SkillDiscovery") -> Iterator[Root]:
    """The directories of a project, from where somebody works up to its root."""
    top, here = str(project), str(places.workspace)
    if _is_inside(settings, places, project):
        yield _project(str(settings.directory), 0, "own", ())
    for distance in range(64):
        inner = tuple(os.path.relpath(here, top).split("/")) if here != top else ()
        yield _project(f"{here}/{SHARED}", distance, "", inner)
        if settings.other_clients:
            for client in CLIENTS:
                yield _project(f"{here}/.{client}/skills", distance, client, inner)
        if here == top:
            return
        here = os.path.dirname(here)  # noqa: PTH120 - asked for every run, and a `Path` costs more than the system


def user_roots(places: Places, project: Path, settings: "SkillDiscovery") -> Iterator[Root]:
    """The directories of the user."""
    if not _is_inside(settings, places, project):
        yield _user(str(settings.directory), "user:named", "the directory in the settings")
    yield _user(f"{places.own}/skills", "user:own", "own")
    yield _user(f"{places.home}/{SHARED}", "user", "~/.agents/skills")
    yield _user(f"{places.config}/agents/skills", "user:xdg", "agents/skills of the user's configuration")
    if settings.other_clients:
        for client in CLIENTS:
            yield _user(f"{places.home}/.{client}/skills", f"user:{client}", f"~/.{client}/skills", further=1)
        shared = f"{places.config}/opencode/skills"
        yield _user(shared, "user:opencode:config", "opencode/skills of the user's configuration", further=1)


def system_roots(settings: "SkillDiscovery") -> Iterator[Root]:
    """The directory of whoever looks after the machine."""
    path = str(settings.admin_directory)
    yield Root(path=path, scope="system", namespace="system", level=SYSTEM_LEVEL, label=path)


def _is_inside(settings: "SkillDiscovery", places: Places, project: Path) -> bool:
    """Whether the directory in the settings is one of the project, wherever links in it lead."""
    return any(settings.directory.is_relative_to(place) for place in (project, places.workspace))


def _project(path: str, distance: int, kind: str, inner: tuple[str, ...]) -> Root:
    is_client = kind in CLIENTS
    return Root(
        path=path,
        scope="project",
        namespace=project_namespace(kind, inner),
        level=PROJECT_LEVEL + _PER_DIRECTORY * distance + is_client,
        label="/".join(("project", *inner, f".{kind}" if is_client else kind or ".agents")),
    )


def _user(path: str, namespace: str, label: str, *, further: int = 0) -> Root:
    return Root(path=path, scope="user", namespace=namespace, level=USER_LEVEL + further, label=label)
