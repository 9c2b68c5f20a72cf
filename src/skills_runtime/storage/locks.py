"""Advisory locks between processes and threads, which the kernel drops when their holder dies, however it dies."""

import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from skills_runtime.errors import StorageFailed
from skills_runtime.storage.files import PRIVATE_FILE

_POLL_SECONDS = 0.02


@contextmanager
def lock_file(path: Path | str, *, mode: int = PRIVATE_FILE, timeout: float | None = None) -> Generator[int]:
    """Hold the exclusive lock of a file, creating it if needed; yield its descriptor.

    The protected file is usually replaced, so the lock is a separate file beside it. After `timeout` seconds
    `StorageFailed` is raised; without one the call waits.
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    with _hold_lock(fd, path, timeout):
        yield fd


@contextmanager
def lock_directory(path: Path | str) -> Generator[int]:
    """Hold the exclusive lock of an existing directory; yield its descriptor."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    with _hold_lock(fd, path, None):
        yield fd


def try_lock(fd: int) -> bool:
    """Take the exclusive lock of an open file; return False if it is held elsewhere."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def release_lock(fd: int) -> None:
    """Release the lock and close the file."""
    try:
        # Closing alone would leave the lock to a child that was forked meanwhile and has not called exec yet.
        fcntl.flock(fd, fcntl.LOCK_UN)
    finally:
        os.close(fd)


@contextmanager
def _hold_lock(fd: int, path: Path | str, timeout: float | None) -> Generator[None]:
    try:
        if timeout is None:
            fcntl.flock(fd, fcntl.LOCK_EX)
        else:
            deadline = time.monotonic() + timeout
            while not try_lock(fd):
                if time.monotonic() > deadline:
                    raise StorageFailed(
                        f"another process has held `{path}` for {timeout:.0f} seconds", hint="end it and try again"
                    )
                time.sleep(_POLL_SECONDS)
        yield
    finally:
        release_lock(fd)
