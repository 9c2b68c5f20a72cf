"""The directories that may contain skills: of the project, the user and the system; and where a project ends."""

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
"""Maximum number of parent directories that are checked."""


class DiscoveryPaths(msgspec.Struct, frozen=True, kw_only=True):
    """The paths of one user in one project."""

    workspace: Path
    """The workspace, with links resolved."""
    home: Path
    config: Path
    """The user's configuration directory, shared by all programs."""
    own: Path
    """Our directory in it."""
    state: Path
    index: Path
    """Where indexes are stored; they may be deleted at any time."""


_VARIABLES = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")


def resolve_discovery_paths(workspace: Path, environ: Mapping[str, str]) -> DiscoveryPaths:
    """Resolve the paths for a workspace and these environment variables."""
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
        # Not in the cache directory: tools must not be able to write to the index.
        index=state_home(environ) / _INDEX,
    )


def find_project_root(directory: str | os.PathLike[str]) -> Path:
    """Return the root of the repository that contains a directory, or the directory itself, with links resolved.

    A repository of another owner is ignored: any user can create one above a world-writable directory.
    """
    return find_repository(os.path.realpath(directory))


def find_repository(start: str) -> Path:
    """Return the root of the repository that contains a path without links, or the path itself."""
    try:
        owner = os.stat(start).st_uid  # noqa: PTH116 - done for every run, and a `Path` costs more than the system
        for directory in ancestors(start):
            if os.access(f"{directory}/.git", os.F_OK, follow_symlinks=False):
                return Path(directory if os.stat(directory).st_uid == owner else start)  # noqa: PTH116 - as above
    except OSError:
        pass
    return Path(start)


def ancestors(directory: str) -> Iterator[str]:
    """Yield a directory and its parents, innermost first."""
    for _ in range(_MAX_ABOVE):
        yield directory
        outer = os.path.dirname(directory)  # noqa: PTH120 - as above
        if outer == directory:
            return
        directory = outer


_ODD = re.compile("[^a-z0-9]+")
_SEGMENT_CHARS = 64
_MAX_INNER = 4
"""Maximum number of directories in a namespace: it has seven segments, and three are needed for its kind."""


def segment(text: str) -> str:
    """Convert a text to one segment of a namespace."""
    plain = _ODD.sub("-", text.lower()).strip("-")[:_SEGMENT_CHARS].strip("-")
    if len(plain) >= 2:
        return plain
    return f"x-{plain}" if plain else f"x-{_short_digest(text)}"


def project_namespace(kind: str, inner: Sequence[str]) -> str:
    """Return the namespace of a skill directory in a project; `inner` is its path from the project root."""
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
"""Other agent programs, by the names of their directories."""
SHARED = ".agents/skills"
"""The directory that all agent programs share."""
PROJECT_LEVEL, USER_LEVEL, SYSTEM_LEVEL, PACKAGE_LEVEL = 10, 1000, 2000, 2001
_PER_DIRECTORY = 2
"""Each directory of a project has two levels: one for the shared directory and one for other programs."""


class Root(msgspec.Struct, frozen=True, kw_only=True):
    """A directory that may contain skills."""

    path: str
    scope: Scope
    namespace: str
    level: int
    label: str
    """A short description of its location."""


def project_roots(paths: DiscoveryPaths, project: Path, settings: "SkillDiscovery") -> Iterator[Root]:
    """Yield the directories of a project, from the workspace up to the project root."""
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
    """Yield the directories of the user."""
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
    """Yield the directory of the system administrator."""
    path = str(settings.admin_directory)
    yield Root(path=path, scope="system", namespace="system", level=SYSTEM_LEVEL, label=path)


def _is_inside(settings: "SkillDiscovery", paths: DiscoveryPaths, project: Path) -> bool:
    """Return whether the configured directory is inside the project, without resolving links."""
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
