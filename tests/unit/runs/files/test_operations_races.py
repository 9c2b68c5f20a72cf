"""Somebody renames things while files are used: the answer is the right file or a refusal, never what is outside."""

import ctypes
import hashlib
import os
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path

import pytest

from skills_runtime.errors import NotFound, PathEscape, SkillsRuntimeError, ValidationFailed
from skills_runtime.runs.files.operations import RunFiles
from skills_runtime.runs.files.scan import scan
from tests.support.examples import examples

Swapping = Callable[[Callable[[], None]], AbstractContextManager[None]]

ATTEMPTS = examples(1500)
MOST_ATTEMPTS = 20_000

_RENAME_EXCHANGE = 2
_AT_FDCWD = -100


def exchange(first: Path, second: Path) -> None:
    """Swap two names in one step, so that there is never a moment without either."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def outcomes(attempt: Callable[[], object], *expected: object) -> Counter[object]:
    """What happened in many attempts; goes on until everything expected was seen, so that a race was really run."""
    seen: Counter[object] = Counter()
    for number in range(MOST_ATTEMPTS):
        if number >= ATTEMPTS and all(seen[outcome] for outcome in expected):
            break
        try:
            seen[attempt()] += 1
        except SkillsRuntimeError as error:
            seen[type(error)] += 1
    assert all(seen[outcome] for outcome in expected), seen
    return seen


@pytest.fixture
def workspace(run_root: Path) -> Path:
    return run_root / "workspace"


@pytest.fixture
def canary(outside: Path, workspace: Path) -> Path:
    """`workspace/d/x` is inside; `workspace/link` leads to a directory outside that looks the same."""
    (workspace / "d").mkdir()
    (workspace / "d" / "x").write_text("inside")
    (workspace / "link").symlink_to(outside)
    return outside


def untouched(canary: Path) -> bool:
    return {path.name: path.read_text() for path in canary.iterdir()} == {"x": "outside secret"}


def test_a_file_swapped_for_a_link_is_never_read_outside(
    files: RunFiles, workspace: Path, outside: Path, swapping: Swapping
) -> None:
    (workspace / "x").write_text("inside")
    (workspace / "other").symlink_to(outside / "x")
    with swapping(lambda: exchange(workspace / "x", workspace / "other")):
        seen = outcomes(lambda: files.read("workspace/x", limit=100), b"inside", PathEscape)
    assert set(seen) == {b"inside", PathEscape}


def test_a_directory_swapped_for_a_link_is_never_read_outside(
    files: RunFiles, workspace: Path, canary: Path, swapping: Swapping
) -> None:
    with swapping(lambda: exchange(workspace / "d", workspace / "link")):
        seen = outcomes(lambda: files.read("workspace/d/x", limit=100), b"inside", PathEscape)
    assert set(seen) == {b"inside", PathEscape}
    assert untouched(canary)


def test_a_directory_swapped_for_a_link_is_never_written_outside(
    files: RunFiles, workspace: Path, canary: Path, swapping: Swapping
) -> None:
    with swapping(lambda: exchange(workspace / "d", workspace / "link")):
        seen = outcomes(lambda: files.write("workspace/d/x", b"new", create_dirs=True), 3, PathEscape)
    assert set(seen) == {3, PathEscape}
    assert untouched(canary)


def test_a_file_swapped_for_a_link_is_never_written_outside(
    files: RunFiles, workspace: Path, outside: Path, swapping: Swapping
) -> None:
    def swap() -> None:
        (workspace / "link").symlink_to(outside / "x")
        (workspace / "link").replace(workspace / "x")
        (workspace / "own").write_text("inside")
        (workspace / "own").replace(workspace / "x")

    with swapping(swap):
        seen = outcomes(lambda: files.write("workspace/x", b"new", create_dirs=False), 3, PathEscape)
    assert set(seen) == {3, PathEscape}
    assert untouched(outside)


def test_directories_are_never_made_outside(files: RunFiles, workspace: Path, canary: Path, swapping: Swapping) -> None:
    numbers = iter(range(MOST_ATTEMPTS))

    def attempt() -> int:
        return files.write(f"workspace/d/{next(numbers)}/deep/x", b"new", create_dirs=True)

    with swapping(lambda: exchange(workspace / "d", workspace / "link")):
        seen = outcomes(attempt, 3, PathEscape)
    assert set(seen) <= {3, PathEscape, NotFound}
    assert untouched(canary)


def test_files_outside_are_never_deleted_or_moved(
    deleting: RunFiles, workspace: Path, canary: Path, swapping: Swapping
) -> None:
    def attempt() -> None:
        deleting.rename("workspace/d/x", "workspace/d/y")
        deleting.rename("workspace/d/y", "workspace/d/x")

    with swapping(lambda: exchange(workspace / "d", workspace / "link")):
        outcomes(attempt, PathEscape)
        outcomes(lambda: deleting.delete("workspace/d/x"), PathEscape)
    assert untouched(canary)


def test_a_directory_moved_up_does_not_lift_its_links_out(
    files: RunFiles, run_root: Path, workspace: Path, swapping: Swapping
) -> None:
    """From `workspace/p/q` the link leads to the run's own file; from `workspace/q` it would lead outside."""
    (run_root.parent / "run.json").write_text("outside secret")
    (workspace / "p" / "q").mkdir(parents=True)
    (workspace / "p" / "q" / "up").symlink_to("../../../run.json")

    def swap() -> None:
        (workspace / "p" / "q").rename(workspace / "q")
        (workspace / "q").rename(workspace / "p" / "q")

    with swapping(swap):
        seen = outcomes(lambda: files.read("workspace/p/q/up", limit=100), b"system run.json")
        elsewhere = outcomes(lambda: files.read("workspace/q/up", limit=100), PathEscape)
    assert set(seen) <= {b"system run.json", PathEscape, NotFound}
    assert set(elsewhere) <= {b"system run.json", PathEscape, NotFound}


def test_a_hard_link_made_and_removed_again_is_never_read(
    files: RunFiles, workspace: Path, outside: Path, swapping: Swapping
) -> None:
    def swap() -> None:
        os.link(outside / "x", workspace / "x")
        (workspace / "x").unlink()

    with swapping(swap):
        seen = outcomes(lambda: files.read("workspace/x", limit=100), PathEscape, NotFound)
    assert set(seen) == {PathEscape, NotFound}


def test_a_hard_link_swapped_for_an_own_file_is_never_read(
    files: RunFiles, workspace: Path, outside: Path, swapping: Swapping
) -> None:
    (workspace / "x").write_text("inside")

    def swap() -> None:
        os.link(outside / "x", workspace / "hard")
        exchange(workspace / "hard", workspace / "x")
        exchange(workspace / "hard", workspace / "x")
        (workspace / "hard").unlink()

    with swapping(swap):
        seen = outcomes(lambda: files.read("workspace/x", limit=100), b"inside", PathEscape)
    assert set(seen) == {b"inside", PathEscape}


def test_a_file_swapped_for_a_pipe_never_blocks(files: RunFiles, workspace: Path, swapping: Swapping) -> None:
    (workspace / "x").write_text("inside")
    os.mkfifo(workspace / "pipe")
    with swapping(lambda: exchange(workspace / "x", workspace / "pipe")):
        seen = outcomes(lambda: files.read("workspace/x", limit=100), b"inside", ValidationFailed)
    assert set(seen) <= {b"inside", ValidationFailed, PathEscape}


def test_a_scan_never_hashes_what_is_outside(run_root: Path, workspace: Path, canary: Path, swapping: Swapping) -> None:
    (workspace / "d" / "y").symlink_to(canary / "x")
    (workspace / "d" / "z").write_text("inside")

    def swap() -> None:
        exchange(workspace / "d", workspace / "link")
        for directory in ("d", "link"):
            with suppress(FileNotFoundError):  # the one that leads outside has no such files
                exchange(workspace / directory / "y", workspace / directory / "z")

    def digests() -> bool:
        return hashlib.sha256(b"outside secret").hexdigest() in {
            file.sha256 for file in scan(run_root, ["workspace"]).files
        }

    with swapping(swap):
        assert set(outcomes(digests, False)) == {False}
