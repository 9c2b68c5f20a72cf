"""Where a path lies as the fence sees it, and so whether the fence can have been in the way there.

Pure: paths are compared, nothing is looked at.
"""

import os
from pathlib import Path
from typing import Literal

from skills_runtime.sandbox.machine import SYSTEM_FILES, SYSTEM_ROOTS
from skills_runtime.sandbox.policy import SandboxPolicy
from skills_runtime.sandbox.protected import CREDENTIALS, READ_ONLY, RUNTIME_DIRECTORY, SECRETS
from skills_runtime.sandbox.survey import Findings

Zone = Literal[
    "protected", "secret", "own", "workspace", "open", "readable", "temporary", "system", "kernel", "outside"
]
"""`own` is the runtime's; `open` can be written, `readable` only read, `kernel` is what no file is."""

TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm")
KERNEL = ("/proc", "/sys", "/dev", "/run")
SYSTEM = (*SYSTEM_ROOTS, *SYSTEM_FILES, "/etc", "/boot", "/var")


def place_of(text: str, cwd: Path) -> Path | None:
    """The path that a text means; nothing when it is none."""
    if not text or "\0" in text or len(text) > 4096:
        return None
    return Path(os.path.normpath(cwd / text))


def is_shown(path: Path) -> bool:
    """Whether every command sees what is there, so that what it misses is missing."""
    return _below(str(path), (*SYSTEM_ROOTS, *SYSTEM_FILES))


def zone_of(path: Path, policy: SandboxPolicy, findings: Findings) -> Zone:
    """Where the path lies; what is written down for a place counts before what its surroundings are."""
    place = _as_the_workspace(path, policy)
    for hidden in (*policy.hidden, *findings.hidden_directories):
        if place.is_relative_to(hidden) and not _opened(place, policy.writable):
            return "own" if RUNTIME_DIRECTORY in place.parts or hidden in policy.hidden else "secret"
    if place in findings.hidden_files:
        return "secret"
    if _opened(place, policy.writable):
        return "open"
    if place.is_relative_to(policy.workspace):
        return _in_workspace(place, policy, findings)
    if _opened(place, policy.readable):
        return "readable"
    return _elsewhere(place)


def _in_workspace(place: Path, policy: SandboxPolicy, findings: Findings) -> Zone:
    fixed = (*findings.read_only, *findings.placeholders, *findings.links)
    if any(place.is_relative_to(path) for path in fixed) or place in findings.pinned:
        return "protected"
    parts = place.relative_to(policy.workspace).parts
    if RUNTIME_DIRECTORY in parts:
        return "own"
    if parts and (parts[-1].startswith(SECRETS) or parts[0] in CREDENTIALS):
        return "secret"
    return "protected" if not READ_ONLY.isdisjoint(parts) else "workspace"


def _elsewhere(place: Path) -> Zone:
    text = str(place)
    if _below(text, TEMPORARY):
        return "temporary"
    if _below(text, KERNEL):
        return "kernel"
    return "system" if _below(text, SYSTEM) else "outside"


def _below(text: str, roots: tuple[str, ...]) -> bool:
    return any(text == root or text.startswith(f"{root}/") for root in roots)


def _opened(place: Path, paths: tuple[Path, ...]) -> bool:
    return any(place.is_relative_to(path) for path in paths)


def _as_the_workspace(path: Path, policy: SandboxPolicy) -> Path:
    for alias in policy.aliases:
        if path.is_relative_to(alias):
            return policy.workspace / path.relative_to(alias)
    return path
