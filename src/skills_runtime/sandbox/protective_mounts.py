"""Decide what is mounted over a workspace so that a command cannot change or read what is protected in it.

bwrap reads the whole mount table for every mount, so the cost grows with the square of their number: 1,200 mounts
(two for each of 600 repositories) take three seconds. So the number is bounded; beyond it, the surrounding
directory is closed, which takes one mount for many names, and reported. Nothing is left open.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from skills_runtime.protected_names import REPOSITORY
from skills_runtime.sandbox.policy import Gap, SandboxPolicy
from skills_runtime.sandbox.protected_paths import Findings, few_directories, topmost

MAX_MOUNTS = 200
"""Mounts over single names."""
MAX_CLOSED = 50
"""Directories that are read-only as a whole."""
MAX_LISTED = 3
"""Closed directories named in a gap."""


class Protection(msgspec.Struct, frozen=True, kw_only=True):
    """What is mounted over the workspace and over granted directories."""

    closed: tuple[Path, ...] = ()
    """Read-only as a whole, except for what is pinned in them."""
    pinned: tuple[Path, ...] = ()
    """Writable, but cannot be moved."""
    read_only: tuple[Path, ...] = ()
    hidden_files: tuple[Path, ...] = ()
    hidden_directories: tuple[Path, ...] = ()
    concealed: tuple[Path, ...] = ()
    """Hidden as a whole, because they hold too many secrets to hide each."""


def plan_protection(policy: SandboxPolicy, findings: Findings) -> Protection:
    """Return everything to mount for these findings, in a bounded number of mounts."""
    writes = policy.access == "write" or bool(policy.opened)
    every = Protection(
        pinned=findings.pinned if writes else (),
        read_only=findings.read_only if writes else (),
        hidden_files=findings.hidden_files,
        hidden_directories=findings.hidden_directories,
    )
    count = sum(map(len, (every.pinned, every.read_only, every.hidden_files)))
    return every if count <= MAX_MOUNTS else _limit_mounts(every, (policy.workspace, *policy.opened))


def protection_gaps(policy: SandboxPolicy, findings: Findings) -> tuple[Gap, ...]:
    """Name the paths that are closed together with the directory around them."""
    protection = plan_protection(policy, findings)
    fix = "name a smaller directory as the workspace"
    gaps: list[Gap] = []
    if protection.closed:
        text = f"more is protected than can be mounted name by name, so {_list_paths(protection.closed)} read-only"
        if exceptions := sum(
            any(path.is_relative_to(directory) for directory in protection.closed) for path in protection.pinned
        ):
            text += f", save for {exceptions} directories in use lately"
        gaps.append(Gap(promise="protected_paths", text=text, fix=fix, partial=True))
    if protection.concealed:
        text = f"there are more secrets than can be hidden one by one, so {_list_paths(protection.concealed)} hidden"
        gaps.append(Gap(promise="secrets", text=text, fix=fix, partial=True))
    return tuple(gaps)


def _list_paths(paths: tuple[Path, ...]) -> str:
    names = ", ".join(f"`{path}`" for path in paths[:MAX_LISTED])
    more = f" and {len(paths) - MAX_LISTED:,} more" if len(paths) > MAX_LISTED else ""
    return f"{names}{more} {'is' if len(paths) == 1 else 'are'}"


def _limit_mounts(every: Protection, roots: tuple[Path, ...]) -> Protection:
    """Protect the most recently used directories name by name, and close those that hold the others."""
    names: dict[Path, int] = {}
    in_repositories = (path for path in every.pinned if REPOSITORY in path.parts)
    for path in (*every.read_only, *every.hidden_files, *in_repositories):
        project = _project(path)
        names[project] = names.get(project, 0) + 1
    individual = _affordable(names, every, roots)
    beyond = names.keys() - individual
    with_secrets = {_project(path) for path in every.hidden_files}
    obeyed = {_project(path) for path in every.read_only}
    closed = frozenset(_closed_directories(beyond & obeyed, roots))
    concealed = frozenset(topmost(beyond & with_secrets))
    # A directory inside a closed one that contains something closed itself must not become writable again.
    around = {parent for path in beyond for parent in path.parents}
    open_again = {path for path in (individual & obeyed) - around if _is_below(path, closed) and path not in closed}
    edges = {**dict.fromkeys(closed, True), **dict.fromkeys(open_again, False)}

    def keep_needed(paths: Iterable[Path]) -> tuple[Path, ...]:
        return tuple(
            path
            for path in paths
            if not next((edges[parent] for parent in (path, *path.parents) if parent in edges), False)
            and not _is_below(path, concealed)
        )

    return Protection(
        closed=tuple(sorted(closed)),
        pinned=keep_needed(every.pinned),
        read_only=keep_needed(every.read_only),
        hidden_files=tuple(path for path in every.hidden_files if _project(path) in individual),
        hidden_directories=every.hidden_directories,
        concealed=tuple(sorted(concealed)),
    )


def _affordable(names: Mapping[Path, int], every: Protection, roots: tuple[Path, ...]) -> set[Path]:
    """Choose the directories whose names are protected one by one: the roots, then the most recently used."""
    paths = {path for path in names if path in roots}
    remaining = MAX_MOUNTS - sum(names[path] for path in paths)
    pinned, counted = set(every.pinned), set(roots)
    for path in sorted(names.keys() - paths, key=lambda path: (-_last_used(path), path)):
        pins = {parent for parent in (path, *path.parents) if parent in pinned} - counted
        remaining -= names[path] + len(pins)
        if remaining < 0:
            break
        paths.add(path)
        counted |= pins
    return paths


def _project(path: Path) -> Path:
    """Return the project of a protected path: the content of a repository belongs to its work tree."""
    for parent in reversed(path.parents):
        if parent.name == REPOSITORY:
            return parent.parent
    return path.parent


def _last_used(path: Path) -> int:
    """Return when git was last used there, or when the directory changed."""
    for candidate in (path / REPOSITORY, path):
        try:
            return candidate.lstat().st_mtime_ns
        except OSError:
            continue
    return 0


def _closed_directories(paths: set[Path], roots: tuple[Path, ...]) -> set[Path]:
    """Return as few directories as contain all of these, without a root."""
    directories = few_directories(paths, MAX_CLOSED)
    return {next((root for root in roots if root.is_relative_to(path)), path) for path in directories}


def _is_below(path: Path, paths: frozenset[Path]) -> bool:
    """Return whether it is one of the paths or lies in one."""
    return bool(paths) and (path in paths or not paths.isdisjoint(path.parents))
