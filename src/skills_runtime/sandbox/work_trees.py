"""Finds the repository of a work tree that lies elsewhere, so that git can read it from behind the fence.

The file `.git` of a work tree only claims where its repository is; an archive could bring one that names anything. So
the repository is shown only if it knows the work tree, belongs to the same user, and is nothing that no grant opens.
"""

import os
from pathlib import Path

from skills_runtime.sandbox.grants import why_not_path
from skills_runtime.sandbox.protected import REPOSITORY

MAX_BYTES = 4096
NAMED = "gitdir:"


def repository_elsewhere(workspace: Path) -> tuple[Path, ...]:
    """What git has to read besides the workspace; nothing for most workspaces."""
    named = _first_line(workspace / REPOSITORY)
    if not named.startswith(NAMED) or "\0" in named:
        return ()
    directory = Path(os.path.realpath(workspace / named.removeprefix(NAMED).strip()))
    back = _first_line(directory / "gitdir")
    if not back or "\0" in back or os.path.realpath(directory / back) != str(workspace / REPOSITORY):
        return ()
    shared = _first_line(directory / "commondir").replace("\0", "")
    repository = Path(os.path.realpath(directory / shared)) if shared else directory
    return (repository,) if directory.is_relative_to(repository) and _may_be_read(repository, workspace) else ()


def _may_be_read(repository: Path, workspace: Path) -> bool:
    if workspace.is_relative_to(repository) or repository.is_relative_to(workspace):
        return False
    try:
        same_user = repository.stat().st_uid == workspace.stat().st_uid
    except OSError:
        return False
    looks_right = all((repository / name).exists() for name in ("HEAD", "objects", "refs"))
    return same_user and looks_right and why_not_path(str(repository), writing=False) is None


def _first_line(path: Path) -> str:
    """The first line of a small file; nothing when it is none, or a link."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        lines = os.fsdecode(os.read(descriptor, MAX_BYTES)).splitlines()
    except OSError:  # a directory, as most are
        return ""
    finally:
        os.close(descriptor)
    return lines[0].strip() if lines else ""
