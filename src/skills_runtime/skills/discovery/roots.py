"""The directories skills are looked for in: those of the project, the user and the system, and where a project ends."""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from skills_runtime.config import config_home, home, state_home

if TYPE_CHECKING:
    from skills_runtime.config import SkillDiscovery

_INDEX = "skills-index"
_MAX_ABOVE = 64
"""How many directories up a project may go."""


class DiscoveryPaths(msgspec.Struct, frozen=True, kw_only=True):
    """Where one user works on one project."""

    workspace: Path
    """Where the user works, behind all links."""
    home: Path
    config: Path
    """The directory that programs of this user keep their configuration in."""
    own: Path
    """Our own directory in it."""
    state: Path
    index: Path
    """Where indexes are kept; they may be deleted at any time."""


_VARIABLES = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")


def resolve_discovery_paths(workspace: Path, environ: Mapping[str, str]) -> DiscoveryPaths:
    """The places of whoever has these variables."""
    return _build_paths(workspace, tuple((name, environ[name]) for name in _VARIABLES if name in environ))


@lru_cache(maxsize=64)
def _build_paths(workspace: Path, variables: tuple[tuple[str, str], ...]) -> DiscoveryPaths:
    environ = dict(variables)
    user_home, path = home(environ), Path(environ.get("XDG_CONFIG_HOME", ""))
    return DiscoveryPaths(
        workspace=Path(os.path.realpath(workspace)),
        home=user_home,
        config=path if path.is_absolute() else user_home / ".config",
        own=config_home(environ),
        state=state_home(environ),
        # Not among caches: what is known of skills must be out of the reach of tools, as their files are.
        index=state_home(environ) / _INDEX,
    )


def find_project_root(directory: str | os.PathLike[str]) -> Path:
    """The root of the repository that a directory is in, or the directory itself, without links.

    A repository of another owner does not count: anybody can put one above a directory that all may write to.
    """
    return find_repository(os.path.realpath(directory))


def find_repository(start: str) -> Path:
    """The same for a path without links."""
    try:
        owner = os.stat(start).st_uid  # noqa: PTH116 - done for every run, and a `Path` costs more than the system
        for directory in ancestors(start):
            if os.access(f"{directory}/.git", os.F_OK, follow_symlinks=False):
                return Path(directory if os.stat(directory).st_uid == owner else start)  # noqa: PTH116 - as above
    except OSError:
        pass
    return Path(start)


def ancestors(directory: str) -> Iterator[str]:
    """A directory, and those that lead to it, from the inside out."""
    for _ in range(_MAX_ABOVE):
        yield directory
        outer = os.path.dirname(directory)  # noqa: PTH120 - as above
        if outer == directory:
            return
        directory = outer


_ODD = re.compile("[^a-z0-9]+")
_SEGMENT_CHARS = 64
_MAX_INNER = 4
"""How many directories of a path a namespace tells; it has seven segments, and three say what kind it is."""


def segment(text: str) -> str:
    """The text as one segment of a namespace."""
    plain = _ODD.sub("-", text.lower()).strip("-")[:_SEGMENT_CHARS].strip("-")
    if len(plain) >= 2:
        return plain
    return f"x-{plain}" if plain else f"x-{_short_digest(text)}"


def project_namespace(kind: str, inner: Sequence[str]) -> str:
    """The namespace of a directory of skills in a project; `inner` leads to it from the root of the project."""
    parts = ["project", *([kind] if kind else [])]
    if not inner:
        return ":".join(parts)
    segments = [segment(name) for name in inner]
    if len(segments) > _MAX_INNER:
        segments = [_short_digest("/".join(inner[: 1 - _MAX_INNER])), *segments[1 - _MAX_INNER :]]
    return ":".join([*parts, "in", *segments])


def _short_digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:8]


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


def project_roots(paths: DiscoveryPaths, project: Path, settings: "SkillDiscovery") -> Iterator[Root]:
    """The directories of a project, from where somebody works up to its root."""
    top, directory = str(project), str(paths.workspace)
    if _is_inside(settings, paths, project):
        yield _project(str(settings.directory), 0, "own", ())
    for distance in range(64):
        inner = tuple(os.path.relpath(directory, top).split("/")) if directory != top else ()
        yield _project(f"{directory}/{SHARED}", distance, "", inner)
        if settings.other_clients:
            for client in CLIENTS:
                yield _project(f"{directory}/.{client}/skills", distance, client, inner)
        if directory == top:
            return
        directory = os.path.dirname(directory)  # noqa: PTH120 - asked for every run, and a `Path` costs more than the system


def user_roots(paths: DiscoveryPaths, project: Path, settings: "SkillDiscovery") -> Iterator[Root]:
    """The directories of the user."""
    if not _is_inside(settings, paths, project):
        yield _user(str(settings.directory), "user:named", "the directory in the settings")
    yield _user(f"{paths.own}/skills", "user:own", "own")
    yield _user(f"{paths.home}/{SHARED}", "user", "~/.agents/skills")
    yield _user(f"{paths.config}/agents/skills", "user:xdg", "agents/skills of the user's configuration")
    if settings.other_clients:
        for client in CLIENTS:
            yield _user(f"{paths.home}/.{client}/skills", f"user:{client}", f"~/.{client}/skills", further=1)
        shared = f"{paths.config}/opencode/skills"
        yield _user(shared, "user:opencode:config", "opencode/skills of the user's configuration", further=1)


def system_roots(settings: "SkillDiscovery") -> Iterator[Root]:
    """The directory of whoever looks after the machine."""
    path = str(settings.admin_directory)
    yield Root(path=path, scope="system", namespace="system", level=SYSTEM_LEVEL, label=path)


def _is_inside(settings: "SkillDiscovery", paths: DiscoveryPaths, project: Path) -> bool:
    """Whether the directory in the settings is one of the project, wherever links in it lead."""
    return any(settings.directory.is_relative_to(path) for path in (project, paths.workspace))


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
