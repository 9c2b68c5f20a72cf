"""The keys that sign logs: outside every workspace, readable by their owner only.

The caller passes the state directory; this module never reads the environment.
"""

import hashlib
import os
import stat
from contextlib import suppress
from pathlib import Path

import msgspec

from skills_runtime.errors import AccessRefused, KeyMissing
from skills_runtime.storage import create_directories, sync_path, write_atomic

KEY_BYTES = 32
CURRENT = "log.key"


class LogKey(msgspec.Struct, frozen=True):
    """One secret and the public id that names it in a log."""

    id: str
    secret: bytes

    def __repr__(self) -> str:
        return f"LogKey({self.id!r})"


def _key(secret: bytes) -> LogKey:
    return LogKey(id=hashlib.sha256(b"skills-runtime key id\n" + secret).hexdigest()[:16], secret=secret)


_FileState = tuple[int, ...]
"""Values that change when a file, its content or its permissions change."""


def _read_file_state(path: Path) -> _FileState:
    try:
        status = os.lstat(path)
    except OSError:
        return ()  # reading it reports the error
    return status.st_dev, status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _read(path: Path) -> LogKey:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            mode, secret = os.fstat(fd).st_mode, os.read(fd, KEY_BYTES + 1)
        finally:
            os.close(fd)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise AccessRefused(
            f"the log key `{path}` cannot be read: {error.strerror}", hint="it must be a file of your own, not a link"
        ) from error
    if stat.S_IMODE(mode) & 0o077:
        raise AccessRefused(
            f"the log key `{path}` can be read by other users",
            hint=f"chmod 600 {path}, or remove it to create a new one",
        )
    if len(secret) != KEY_BYTES:
        raise KeyMissing(
            f"`{path}` is not a log key", hint="remove it; runs it signed can then be read but not resumed"
        )
    return _key(secret)


class KeyRing:
    """All keys of one directory; `log.key` signs, every `*.key` may verify."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._cached: tuple[_FileState, LogKey] | None = None

    def current(self) -> LogKey:
        """Return the key that signs new logs; created on first use, cached until its file changes."""
        path = self.directory / CURRENT
        state = _read_file_state(path)
        if self._cached is not None and self._cached[0] == state:
            return self._cached[1]
        try:
            key = _read(path)
        except FileNotFoundError:
            return self._create(path)
        self._cached = (state, key) if state else None
        return key

    def find(self, key_id: str) -> LogKey | None:
        """Find the key with this id, or None."""
        for path in sorted(self.directory.glob("*.key")):
            key = _read(path)
            if key.id == key_id:
                return key
        return None

    def _create(self, path: Path) -> LogKey:
        try:
            create_directories(self.directory)
            with suppress(FileExistsError):  # the first one wins; a key is never replaced
                write_atomic(path, os.urandom(KEY_BYTES), replace=False)
            sync_path(self.directory)  # a log must not outlive the key it was signed with
        except OSError as error:
            raise AccessRefused(
                f"no log key can be created in `{self.directory}`: {error.strerror}",
                hint="make the state directory writable",
            ) from error
        return _read(path)
