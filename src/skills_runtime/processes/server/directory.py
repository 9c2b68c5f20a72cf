"""The private directory of a workspace's server, held open so that later changes to its path do not matter.

The socket is reached through the open directory: its path can be of any length, and there is nothing in `/tmp`.
"""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from skills_runtime.errors import AccessRefused, NotFound, SkillsRuntimeError, StorageFailed, ValidationFailed
from skills_runtime.runs import DIRECTORY_MODE, FILE_MODE, STATE_DIRECTORY
from skills_runtime.storage import try_lock, wrap_write_errors, write_atomic

RUNTIME_DIRECTORY = "runtime"
SOCKET = "runtime.sock"
SERVER = "server.json"
REGISTRY = "exec_registry.json"
STANDARD_OUTPUT = "server.stdout.log"
STANDARD_ERROR = "server.stderr.log"
LOCK = "server.lock"
"""Held by the server while it runs."""

MAX_FILE = 4 << 20
MAX_LOG = 1 << 20
"""A longer log is truncated when a server starts."""

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_GROUP_AND_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class NoServer(NotFound):
    """No server runs for the workspace."""

    default_hint = "`RuntimeClient` starts one when it is needed"


class RuntimeDirectory:
    """The runtime directory of a workspace; a context manager that closes it."""

    def __init__(self, workspace_root: Path, path: Path, descriptor: int) -> None:
        self.workspace_root = workspace_root
        self.path = path
        self._descriptor = descriptor

    @classmethod
    def open(cls, workspace_root: Path | str, *, create: bool) -> Self:
        """Open the directory of a workspace; create a missing one, or raise `NoServer`."""
        root = Path(workspace_root).resolve()
        if not root.is_dir():
            raise NotFound(f"the workspace `{root}` is not a directory", hint="name the directory you work in")
        path = root / STATE_DIRECTORY / RUNTIME_DIRECTORY
        try:
            with (
                _owned_descriptor(os.open(root, _DIRECTORY)) as top,
                _owned_descriptor(_enter(STATE_DIRECTORY, top, create=create)) as own,
            ):
                descriptor = _enter(RUNTIME_DIRECTORY, own, create=create)
        except OSError as error:
            raise _refusal(error, path) from error
        directory = cls(root, path, descriptor)
        try:
            directory._make_private()
        except BaseException:
            directory.close()
            raise
        return directory

    @property
    def address(self) -> str:
        """Address to bind or connect to; short, because the path of a socket is limited to about 100 bytes."""
        return f"/proc/self/fd/{self._descriptor}/{SOCKET}"

    def read(self, name: str) -> bytes | None:
        """Read a file, or return None; refuse one that others could have read or written."""
        try:
            descriptor = os.open(
                name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._descriptor
            )
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _refusal(error, self.path / name) from error
        with open(descriptor, "rb") as file:
            info = os.fstat(descriptor)
            if not stat.S_ISREG(info.st_mode) or info.st_uid != os.geteuid() or info.st_mode & _GROUP_AND_OTHERS:
                raise AccessRefused(
                    f"`{self.path / name}` is not a private file of this user", hint="remove it, and try again"
                )
            return file.read(MAX_FILE)

    def write(self, name: str, data: bytes) -> None:
        """Replace a file; no other user can read it at any time."""
        with wrap_write_errors(self.path / name):
            write_atomic(name, data, mode=FILE_MODE, durable=False, dir_fd=self._descriptor)

    def rename(self, name: str, other: str) -> None:
        """Rename a file, replacing the target."""
        os.rename(name, other, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._descriptor)

    def open_log(self, name: str) -> int:
        """Open a log for appending."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(name, flags, FILE_MODE, dir_fd=self._descriptor)
        os.fchmod(descriptor, FILE_MODE)
        if os.fstat(descriptor).st_size > MAX_LOG:
            os.ftruncate(descriptor, 0)
        return descriptor

    def lock(self) -> int | None:
        """Lock the role of the server until the descriptor is closed; None if it is taken."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            descriptor = os.open(LOCK, flags, FILE_MODE, dir_fd=self._descriptor)
        except OSError as error:
            raise _refusal(error, self.path / LOCK) from error
        return descriptor if _try_lock(descriptor) else None

    def lock_starting(self) -> int | None:
        """Lock the right to start a server; None if another client is starting one."""
        return descriptor if _try_lock(descriptor := os.open(".", _DIRECTORY, dir_fd=self._descriptor)) else None

    def close(self) -> None:
        """Close the directory."""
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _make_private(self) -> None:
        info = os.fstat(self._descriptor)
        if info.st_uid != os.geteuid():
            raise AccessRefused(f"`{self.path}` belongs to another user", hint="remove it, and try again")
        if info.st_mode & _GROUP_AND_OTHERS:
            os.fchmod(self._descriptor, DIRECTORY_MODE)


class _owned_descriptor:
    """Closes a descriptor at the end of a block."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __enter__(self) -> int:
        return self._descriptor

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)


def _enter(name: str, parent: int, *, create: bool) -> int:
    if create:
        with suppress(FileExistsError):
            os.mkdir(name, DIRECTORY_MODE, dir_fd=parent)
    return os.open(name, _DIRECTORY, dir_fd=parent)


def _try_lock(descriptor: int) -> bool:
    acquired = try_lock(descriptor)
    if not acquired:
        os.close(descriptor)
    return acquired


def _refusal(error: OSError, path: Path) -> SkillsRuntimeError:
    if error.errno == errno.ENOENT:
        return NoServer(f"there is no runtime server: `{path}` does not exist")
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return ValidationFailed(
            f"`{path}` is not a real file or directory", hint="remove the link that stands in its place"
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return AccessRefused(f"`{path}` cannot be used: {error.strerror}", hint="check who owns it")
    return StorageFailed(f"`{path}` cannot be used: {error.strerror}")
