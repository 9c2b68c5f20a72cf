"""The directories everything is looked for in, and where a project ends."""

import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

import msgspec

from skills_runtime.config.environment import config_home, home, state_home

_INDEX = "skills-index"
_MAX_ABOVE = 64
"""How many directories up a project may go."""


class Places(msgspec.Struct, frozen=True, kw_only=True):
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


def places_of(workspace: Path, environ: Mapping[str, str]) -> Places:
    """The places of whoever has these variables."""
    return _places(workspace, tuple((name, environ[name]) for name in _VARIABLES if name in environ))


@lru_cache(maxsize=64)
def _places(workspace: Path, variables: tuple[tuple[str, str], ...]) -> Places:
    environ = dict(variables)
    mine = home(environ)
    return Places(
        workspace=Path(os.path.realpath(workspace)),
        home=mine,
        config=_named(environ, "XDG_CONFIG_HOME", mine / ".config"),
        own=config_home(environ),
        state=state_home(environ),
        # Not among caches: what is known of skills must be out of the reach of tools, as their files are.
        index=state_home(environ) / _INDEX,
    )


def _named(environ: Mapping[str, str], variable: str, otherwise: Path) -> Path:
    named = Path(environ.get(variable, ""))
    return named if named.is_absolute() else otherwise


def project_root(directory: str | os.PathLike[str]) -> Path:
    """The root of the repository that a directory is in, or the directory itself, without links.

    A repository of another owner does not count: anybody can put one above a directory that all may write to.
    """
    return repository_of(os.path.realpath(directory))


def repository_of(start: str) -> Path:
    """The same for a path without links."""
    try:
        owner = os.stat(start).st_uid  # noqa: PTH116 - done for every run, and a `Path` costs more than the system
        for here in above(start):
            if os.access(f"{here}/.git", os.F_OK, follow_symlinks=False):
                return Path(here if os.stat(here).st_uid == owner else start)  # noqa: PTH116 - as above
    except OSError:
        pass
    return Path(start)


def above(directory: str) -> Iterator[str]:
    """A directory, and those that lead to it, from the inside out."""
    for _ in range(_MAX_ABOVE):
        yield directory
        outer = os.path.dirname(directory)  # noqa: PTH120 - as above
        if outer == directory:
            return
        directory = outer
