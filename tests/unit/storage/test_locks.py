"""Locks that one holds at a time, and that go with their holder."""

import os
import signal
import threading
import warnings
from pathlib import Path

import pytest

from skills_runtime.errors import StorageFailed
from skills_runtime.storage.locks import lock_directory, lock_file, try_lock
from tests.support.tools import modes


def fork() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which a test worker may have
        return os.fork()


def test_a_lock_file_is_private_and_made_if_need_be(tmp_path: Path) -> None:
    with lock_file(tmp_path / "lock"):
        pass
    assert modes(tmp_path)["lock"] == 0o600


def test_a_link_is_not_locked(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="symbolic links"), lock_file(tmp_path / "lock"):
        pass
    assert not (tmp_path / "target").exists()


def test_one_holds_the_lock_at_a_time(tmp_path: Path) -> None:
    inside, most = 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(50):
            with lock_directory(tmp_path), lock_file(tmp_path / "lock"):
                inside += 1
                most = max(most, inside)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_a_lock_timeout_names_the_lock(tmp_path: Path) -> None:
    with (
        lock_file(tmp_path / "lock"),
        pytest.raises(StorageFailed, match=r"another process has held .*lock` for 0 seconds"),
        lock_file(tmp_path / "lock", timeout=0),
    ):
        pass
    with lock_file(tmp_path / "lock", timeout=0):
        pass


def test_a_lock_that_is_held_is_not_taken(tmp_path: Path) -> None:
    with lock_file(tmp_path / "lock") as held:
        other = os.open(tmp_path / "lock", os.O_RDWR)
        try:
            assert not try_lock(other)
            assert try_lock(held)
        finally:
            os.close(other)


def test_a_lock_goes_with_the_block_also_when_a_child_was_forked_in_it(tmp_path: Path) -> None:
    with lock_file(tmp_path / "lock"):
        child = fork()
        if child == 0:
            signal.pause()
            os._exit(0)
    try:
        with lock_file(tmp_path / "lock", timeout=0):
            pass
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_lock_goes_with_a_holder_that_is_killed(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    child = fork()
    if child == 0:
        with lock_directory(tmp_path):
            os.write(writer, b"!")
            signal.pause()
        os._exit(0)
    assert os.read(reader, 1) == b"!"
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reader)
    os.close(writer)
    with lock_directory(tmp_path) as fd:
        assert try_lock(fd)
