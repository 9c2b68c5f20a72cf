"""Lines of shell in the sandbox that every command gets, and git outside of it."""

import asyncio
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime.ports import ProcessRequest, SandboxPlan
from skills_runtime.processes import Command, Finished, Limits, execute
from skills_runtime.sandbox import CAREFUL, OsSandbox, build_policy, find_adapters
from tests.e2e.sandbox.arena import state_beside

LIMITS = Limits(wall_seconds=60.0, grace_seconds=0.2)
NO_USER = {
    "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_NAME": "user",
    "GIT_AUTHOR_EMAIL": "user@example.com", "GIT_COMMITTER_NAME": "user", "GIT_COMMITTER_EMAIL": "user@example.com",
}  # fmt: skip


def fence(workspace: Path, variables: Mapping[str, str] | None = None, **changes: Any) -> OsSandbox:
    """The sandbox that a run has by default."""
    limits = msgspec.structs.replace(CAREFUL, cpu_seconds=60, wall_seconds=60.0)
    policy = msgspec.structs.replace(build_policy("workspace-write", workspace, limits), **changes)
    return OsSandbox(policy, find_adapters("bubblewrap"), variables or {}, state=state_beside(workspace))


def plan(workspace: Path, line: str, variables: Mapping[str, str] | None = None, **changes: Any) -> SandboxPlan:
    request = ProcessRequest(argv=("/bin/bash", "-ec", line), cwd=workspace)
    return fence(workspace, variables, **changes).plan(request)


def command(planned: SandboxPlan) -> Command:
    return Command(planned.argv, planned.cwd, planned.environment, setup=planned.setup)


def run(workspace: Path, line: str, variables: Mapping[str, str] | None = None, **changes: Any) -> Finished:
    """Run it to its end."""
    return asyncio.run(execute(command(plan(workspace, line, variables, **changes)), LIMITS))


def said(finished: Finished) -> str:
    return finished.stdout.text() + finished.stderr.text()


def moved(workspace: Path, finished: Finished) -> list[str]:
    """What was set aside after a command, seen from the workspace."""
    assert all(one.problem == "" for one in finished.quarantined), finished.quarantined
    return sorted(str(Path(one.path).relative_to(workspace)) for one in finished.quarantined)


def git(workspace: Path, *words: str) -> str:
    """What git says outside, as the user."""
    done = subprocess.run(
        ["git", "-c", "safe.directory=*", *words],
        cwd=workspace,
        env={"PATH": os.environ["PATH"], **NO_USER},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def repository(place: Path, *names: str) -> Path:
    """A repository with one commit of these files."""
    place.mkdir(parents=True, exist_ok=True)
    for name in names or ("file.txt",):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(f"{name}\n")
    git(place, "init", "-q", "-b", "main")
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "first")
    return place
