"""One holder at a time, and the lock is free the moment its holder lets go."""

import os
import stat
from pathlib import Path

import pytest

from skills_runtime.errors import LogLocked
from skills_runtime.runs.log import RunLock
from tests.support.runs import count_descriptors


def descriptor_of(path: Path) -> int:
    """The descriptor with which this process has opened the file."""
    return next(int(link.name) for link in Path("/proc/self/fd").iterdir() if os.path.realpath(link) == str(path))


def test_a_second_holder_is_refused_and_the_first_is_named(tmp_path: Path) -> None:
    lock = RunLock(tmp_path / "run.lock")
    with pytest.raises(LogLocked, match=rf"pid {os.getpid()}\) is writing the run `{tmp_path.name}`"):
        RunLock(tmp_path / "run.lock")
    lock.release()


def test_a_released_lock_can_be_taken_again(tmp_path: Path) -> None:
    RunLock(tmp_path / "run.lock").release()
    RunLock(tmp_path / "run.lock").release()


def test_releasing_twice_does_no_harm(tmp_path: Path) -> None:
    first = RunLock(tmp_path / "run.lock")
    first.release()
    second = RunLock(tmp_path / "run.lock")
    first.release()
    with pytest.raises(LogLocked):
        RunLock(tmp_path / "run.lock")
    second.release()


def test_a_refused_taker_leaves_no_descriptor_behind(tmp_path: Path) -> None:
    lock = RunLock(tmp_path / "run.lock")
    before = count_descriptors()
    for _ in range(5):
        with pytest.raises(LogLocked):
            RunLock(tmp_path / "run.lock")
    assert count_descriptors() == before
    lock.release()


def test_a_lock_is_free_once_released_although_a_child_was_forked_meanwhile(tmp_path: Path) -> None:
    lock = RunLock(tmp_path / "run.lock")
    held = os.dup(descriptor_of(tmp_path / "run.lock"))  # what a child holds between fork and exec
    lock.release()
    try:
        RunLock(tmp_path / "run.lock").release()
    finally:
        os.close(held)


def test_a_lock_file_that_was_replaced_is_not_the_lock(tmp_path: Path) -> None:
    old = RunLock(tmp_path / "run.lock")
    (tmp_path / "run.lock").unlink()
    new = RunLock(tmp_path / "run.lock")
    with pytest.raises(LogLocked):
        RunLock(tmp_path / "run.lock")
    new.release()
    old.release()


def test_a_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "run.lock").symlink_to(tmp_path / "precious")
    with pytest.raises(OSError, match="symbolic links"):
        RunLock(tmp_path / "run.lock")
    assert (tmp_path / "precious").read_text() == "mine"


def test_the_lock_file_is_private(tmp_path: Path) -> None:
    lock = RunLock(tmp_path / "run.lock")
    assert stat.S_IMODE((tmp_path / "run.lock").stat().st_mode) == 0o600
    lock.release()
