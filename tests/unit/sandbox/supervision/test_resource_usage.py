"""What is looked at counts everything, and once: shared memory, files without a name, directories that are closed."""

import mmap
import os
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from skills_runtime.sandbox.supervision import resource_usage
from skills_runtime.sandbox.supervision.process_tree import Process
from skills_runtime.sandbox.supervision.resource_usage import Watching
from tests.support.users import Unprivileged

MEBIBYTE = 1 << 20
SIZE = 64 * MEBIBYTE


@contextmanager
def processes(*works: Callable[[], object]) -> Generator[list[int]]:
    """Copies of this process that hold what they have made until they are ended."""
    pids: list[int] = []
    try:
        for work in works:
            reads, writes = os.pipe()
            pid = os.fork()
            if pid == 0:
                try:
                    held = work()
                    os.write(writes, b"x")
                    signal.pause()
                    del held
                finally:
                    os._exit(0)
            pids.append(pid)
            os.close(writes)
            os.read(reads, 1)
            os.close(reads)
        yield pids
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _mapped() -> mmap.mmap:
    made = mmap.mmap(-1, SIZE)
    made.write(b"x" * SIZE)
    return made


def _file() -> int:
    made = os.memfd_create("held")
    os.write(made, b"x" * SIZE)
    return made


def _mapped_file() -> object:
    made = _file()
    view = mmap.mmap(made, SIZE)
    return made, view, sum(view[at] for at in range(0, SIZE, 4096))


def _beyond(pids: list[int]) -> int:
    """How many mebibytes the processes use together, to the next eight."""
    return next(size for size in range(0, 1024, 8) if not resource_usage.uses_more_than(size * MEBIBYTE, pids))


@pytest.mark.parametrize("work", [_mapped, _file, _mapped_file, lambda: bytearray(b"x") * SIZE])
def test_memory_counts_however_it_is_taken(work: Callable[[], object]) -> None:
    with processes(lambda: None) as idle:
        before = _beyond(idle)
    with processes(work) as pids:
        assert 56 <= _beyond(pids) - before <= 80


def test_memory_that_several_share_counts_once() -> None:
    with processes(*[lambda: None] * 4) as idle:
        before = _beyond(idle)
    shared = _mapped()
    with processes(*[lambda: sum(shared[at] for at in range(0, SIZE, 4096))] * 4) as pids:
        assert _beyond(pids) - before <= 80
    shared.close()


def test_a_file_without_a_name_is_found(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, MEBIBYTE)
        (tmp_path / "file").unlink()
        assert sum(resource_usage.nameless_on(str(tmp_path), [os.getpid()])) * 512 >= MEBIBYTE


def test_a_file_with_a_name_is_not_counted_twice(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, MEBIBYTE)
        before = resource_usage.nameless_on(str(tmp_path), [os.getpid()])
        (tmp_path / "file").unlink()
        assert len(resource_usage.nameless_on(str(tmp_path), [os.getpid()])) == len(before) + 1


def _watching(place: Path, size: int) -> Watching:
    wanted = {"memory_bytes": None, "disk_path": str(place), "disk_bytes": size, "disk_files": 10_000}
    return Watching(wanted)


def _allocate(path: Path, size: int) -> None:
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, size)


def test_what_was_too_quick_to_be_seen_is_seen_at_last(tmp_path: Path) -> None:
    watching = _watching(tmp_path, 4 * MEBIBYTE)
    _allocate(tmp_path / "file", SIZE)
    assert watching.exceeded_at_last() == "disk"


def test_little_is_no_matter_at_last(tmp_path: Path) -> None:
    watching = _watching(tmp_path, 4 * MEBIBYTE)
    _allocate(tmp_path / "file", MEBIBYTE)
    assert watching.exceeded_at_last() is None


def test_what_lies_in_a_closed_directory_counts(unprivileged: Unprivileged) -> None:
    def run() -> str | None:
        watching = _watching(unprivileged.path, 4 * MEBIBYTE)
        closed = unprivileged.path / "closed"
        closed.mkdir()
        _allocate(closed / "file", SIZE)
        closed.chmod(0)
        try:
            return watching.exceeded_at_last()
        finally:
            closed.chmod(0o700)

    assert unprivileged(run) == "disk"


def test_a_directory_that_was_taken_away_is_no_matter(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    watching = _watching(place, 4 * MEBIBYTE)
    place.rmdir()
    assert watching.exceeded_at_last() is None
    assert watching.exceeded(lambda: [Process(os.getpid(), 1, 1, 1)]) is None
