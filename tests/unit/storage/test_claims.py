"""Which processes may be alive in a workspace at the same time."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from skills_runtime.storage import Claim, ClaimKind, Conflict, is_claimed, try_claim
from skills_runtime.storage.claims import STATE_DIRECTORY


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "project" / STATE_DIRECTORY).mkdir(parents=True)
    return tmp_path / "project"


@pytest.fixture
def held() -> Iterator[ExitStack]:
    """Releases what a test has claimed."""
    with ExitStack() as stack:
        yield stack


def claim(
    held: ExitStack, workspace: Path, kind: ClaimKind, *, lasting: bool = False, place: Path | None = None
) -> Claim | Conflict:
    made = try_claim(kind, f"the {kind} one", workspace=workspace, paths=[place or workspace], lasting=lasting)
    if isinstance(made, Claim):
        held.callback(made.release)
    return made


@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        ("sandboxed", "sandboxed", True),
        ("outside", "outside", True),
        ("sandboxed", "outside", False),
        ("outside", "sandboxed", False),
        ("widened", "widened", False),
        ("widened", "sandboxed", False),
        ("outside", "widened", False),
    ],
)
def test_only_processes_of_equal_rights_are_alive_together(
    held: ExitStack, workspace: Path, first: ClaimKind, second: ClaimKind, *, together: bool
) -> None:
    begun = claim(held, workspace, first, lasting=True)
    assert isinstance(begun, Claim)
    other = claim(held, workspace, second)
    assert isinstance(other, Claim) is together
    if not together:
        assert other == Conflict(first, f"the {first} one", lasting=True)
        begun.release()
        assert isinstance(claim(held, workspace, second), Claim)


def test_a_workspace_inside_another_belongs_to_it(held: ExitStack, workspace: Path) -> None:
    (workspace / "part").mkdir()
    claim(held, workspace, "sandboxed")
    assert isinstance(claim(held, workspace / "part", "outside"), Conflict)


def test_a_workspace_beside_another_is_free(held: ExitStack, workspace: Path) -> None:
    beside = workspace.with_name("project-2")
    beside.mkdir()
    claim(held, workspace, "sandboxed")
    assert isinstance(claim(held, beside, "outside"), Claim)


def test_a_command_that_writes_nowhere_blocks_nothing(held: ExitStack, workspace: Path) -> None:
    reading = try_claim("sandboxed", "reading", workspace=workspace)
    assert isinstance(reading, Claim)
    held.callback(reading.release)
    assert isinstance(claim(held, workspace, "outside"), Claim)


def test_a_script_in_a_place_that_a_sandboxed_process_writes_to_is_claimed(held: ExitStack, workspace: Path) -> None:
    elsewhere = workspace.with_name("elsewhere")
    elsewhere.mkdir()
    claim(held, elsewhere, "sandboxed")
    made = try_claim("outside", "x", workspace=workspace, paths=[workspace], files=[elsewhere / "script.sh"])
    assert made == Conflict("sandboxed", "the sandboxed one", lasting=False)


@pytest.mark.parametrize(("kind", "mode"), [("outside", fcntl.LOCK_SH), ("sandboxed", fcntl.LOCK_EX)])
def test_another_process_of_the_runtime_is_noticed(
    held: ExitStack, workspace: Path, kind: ClaimKind, mode: int
) -> None:
    fd = os.open(workspace / STATE_DIRECTORY, os.O_RDONLY)  # opened anew, its lock is that of a stranger
    fcntl.flock(fd, mode)
    assert claim(held, workspace, kind) == Conflict(None)
    os.close(fd)
    assert isinstance(claim(held, workspace, kind), Claim)


def test_a_session_that_stays_in_its_sandbox_lets_others_in_again(held: ExitStack, workspace: Path) -> None:
    session = claim(held, workspace, "widened")
    assert isinstance(session, Claim)
    session.relax()
    assert isinstance(claim(held, workspace, "sandboxed"), Claim)
    assert isinstance(claim(held, workspace, "outside"), Conflict)


def test_what_runs_outside_is_claimed_by_name_and_as_a_whole(held: ExitStack, workspace: Path) -> None:
    made = try_claim("outside", "x", workspace=workspace, files=[workspace / "run.sh", workspace / "skill"])
    assert isinstance(made, Claim)
    held.callback(made.release)
    (workspace / "link").symlink_to("run.sh")
    names = ["run.sh", "link", "skill/deep/x", "run.sh.bak", "skills"]
    assert [is_claimed(workspace / name) for name in names] == [True, True, True, False, False]
