"""A workspace with 600 repositories: commands start in a second, and everything in it stays protected."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from skills_runtime.ports import ProcessRequest, SandboxPlan
from skills_runtime.processes import Command, Finished, Limits, execute
from skills_runtime.sandbox import CAREFUL, OsSandbox, build_policy, find_adapters
from tests.e2e.sandbox.arena import state_beside

COUNT = 600
BOUND_SECONDS = 1.0
ATTEMPTS = 5


@pytest.fixture(scope="module", params=["vendor", ""], ids=["in one directory", "at the top"])
def workspace(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("many").resolve()
    for number in range(COUNT):
        repository = made / request.param / f"r{number:03}"
        (repository / ".git/hooks").mkdir(parents=True)
        (repository / ".env").write_text("secret")
        (repository / "source").write_text("text")
        os.utime(repository / ".git", (number, number))
    return made


def _plan(workspace: Path, line: str) -> SandboxPlan:
    fence = OsSandbox(
        build_policy("workspace-write", workspace, CAREFUL),
        find_adapters("bubblewrap"),
        {},
        state=state_beside(workspace),
    )
    return fence.plan(ProcessRequest(argv=("/bin/sh", "-c", line), cwd=workspace))


def _run(workspace: Path, line: str) -> Finished:
    plan = _plan(workspace, line)
    command = Command(plan.argv, plan.cwd, plan.environment, setup=plan.setup)
    return asyncio.run(execute(command, Limits(wall_seconds=60.0, grace_seconds=0.2)))


def _seconds_to_start(workspace: Path) -> float:
    begun = time.monotonic()
    assert _run(workspace, "true").exit_code == 0
    return time.monotonic() - begun


def _slowness(workspace: Path) -> float:
    """How many times longer than on an idle machine something takes now that only computes."""
    begun, worked = time.monotonic(), time.process_time()
    _plan(workspace, "true")
    return (time.monotonic() - begun) / (time.process_time() - worked)


def test_a_command_starts_within_a_second(workspace: Path) -> None:
    assert any(_seconds_to_start(workspace) <= BOUND_SECONDS * _slowness(workspace) for _ in range(ATTEMPTS))


def test_no_repository_can_be_changed_or_moved_and_no_secret_read(workspace: Path) -> None:
    script = """exec /usr/bin/python3 -I - <<'END'
from pathlib import Path
for path in [*Path().glob("r???"), *Path().glob("*/r???")]:
    for attempt in (
        lambda: (path / ".git/hooks/pre-commit").write_text("new"),
        lambda: path.rename(f"{path}.aside"),
        lambda: (path / ".env").read_text() and print("secret of", path),
    ):
        try:
            attempt()
        except OSError:
            pass
END
"""
    done = _run(workspace, script)
    assert (done.exit_code, done.stdout.text()) == (0, "")
    hooks = [path for path in workspace.rglob("hooks/*") if ".git" in path.parts]
    assert hooks == []
    assert len(list(workspace.rglob("r???/.env"))) == COUNT


def test_the_repositories_used_last_can_be_worked_in(workspace: Path) -> None:
    last = next(workspace.rglob(f"r{COUNT - 1:03}")).relative_to(workspace)
    done = _run(workspace, f"cat {last}/source && echo new > {last}/source && cat {last}/source")
    assert (done.exit_code, done.stdout.text()) == (0, "textnew\n")


def test_what_is_closed_as_a_whole_is_reported_by_name(workspace: Path) -> None:
    gaps = _plan(workspace, "true").evidence["gaps"]
    assert any(f"`{workspace}" in gap and "read-only" in gap for gap in gaps)
