"""What has to be mounted before a command begins, read from the options themselves, so that nothing is left out."""

import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from skills_runtime.sandbox.policy import SandboxPolicy

BINDS = ("--bind", "--ro-bind", "--ro-bind-try")
IN_MEMORY = {"--tmpfs": 1, "--bind-data": 2, "--ro-bind-data": 2}
"""Options that mount what is nowhere outside, and after how many words they name the place."""

Mount = tuple[str, str, str]


def expected_mounts(options: Sequence[str], policy: SandboxPolicy, made: Collection[Path] = ()) -> Iterator[Mount]:
    """Where something is mounted, what, and the path outside that it covers; one for each option that mounts.

    A mount that may be missing, or that covers nothing of the workspace, has no such path; nor has one over what is
    `made` for it just before the start, since that may not be permitted.
    """
    for place, option in enumerate(options):
        if option in BINDS:
            source, point = options[place + 1 : place + 3]
            covered = "" if option.endswith("-try") else _covered(point, policy)
            yield point, _real(source, policy), covered
        elif option in IN_MEMORY:
            point = options[place + IN_MEMORY[option]]
            covered = _covered(point, policy)
            yield point, "", "" if Path(covered) in made else covered


def _covered(point: str, policy: SandboxPolicy) -> str:
    return point if any(_is_in(point, path) for path in (policy.workspace, *policy.opened)) else ""


def _real(source: str, policy: SandboxPolicy) -> str:
    """What somebody asked to be readable may be named by a link; what was found in a workspace never is."""
    return os.path.realpath(source) if any(source == str(path) for path in policy.readable) else source


def _is_in(point: str, directory: Path) -> bool:
    return point == str(directory) or point.startswith(f"{directory}/")
