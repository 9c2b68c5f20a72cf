"""Private files of the service (token, keys, audit log), readable only by its user."""

import os
import stat
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from skills_runtime.errors import AccessRefused, StorageFailed
from skills_runtime.runs import DIRECTORY_MODE
from skills_runtime.storage import create_directories, lock_file, wrap_write_errors, write_atomic

MAX_BYTES = 4 << 20
_OTHERS_ACCESS = stat.S_IRWXG | stat.S_IRWXO


def service_directory(state: Path) -> Path:
    """Return the private directory of services, creating it if it is missing."""
    path = state / "service"
    try:
        create_directories(path, mode=DIRECTORY_MODE)
    except OSError as error:
        raise StorageFailed(
            f"`{path}` cannot be created: {error.strerror}", hint="check the permissions of its parent"
        ) from error
    return path


def read_private(path: Path) -> bytes | None:
    """Return the contents of a private file, or `None`; raise if other users could read or write it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise AccessRefused(
            f"`{path}` cannot be read: {error.strerror}", hint="it must be a file that you own"
        ) from error
    with open(descriptor, "rb") as file:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode) or info.st_uid != os.geteuid() or info.st_mode & _OTHERS_ACCESS:
            raise AccessRefused(f"`{path}` is not a private file of this user", hint=f"chmod 600 {path}, or remove it")
        return file.read(MAX_BYTES)


def write_private(path: Path, data: bytes) -> None:
    """Replace a file atomically."""
    with wrap_write_errors(path):
        write_atomic(path, data)


@contextmanager
def lock_private(path: Path) -> Generator[None]:
    """Hold a lock that keeps other processes from changing a file."""
    with ExitStack() as stack:
        try:
            stack.enter_context(lock_file(f"{path}.lock"))
        except OSError as error:
            raise StorageFailed(f"`{path}` cannot be locked: {error.strerror}") from error
        yield
