"""Memory that is looked at counts wholly, and once."""

import mmap
import os
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager

import pytest

from skills_runtime.sandbox.supervision import limit_watch

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
    return next(size for size in range(0, 1024, 8) if not limit_watch.uses_more_than(size * MEBIBYTE, pids))


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
