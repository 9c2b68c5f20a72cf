"""The keys that sign logs: outside every workspace, readable by their owner only.

The caller says where the state directory is; this module never reads the environment.
"""

import hashlib
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from skills_runtime.errors import AccessRefused, KeyMissing

KEY_BYTES = 32
CURRENT = "log.key"


@dataclass(frozen=True, slots=True)
class LogKey:
    """One secret and the public id that names it in a log."""

    id: str
    secret: bytes = field(repr=False)


def _key(secret: bytes) -> LogKey:
    return LogKey(id=hashlib.sha256(b"skills-runtime key id\n" + secret).hexdigest()[:16], secret=secret)


def _read(path: Path) -> LogKey:
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        info = os.fstat(fd)
        if stat.S_IMODE(info.st_mode) & 0o077:
            raise AccessRefused(
                f"the log key `{path}` can be read by other users",
                hint=f"chmod 600 {path}, or remove it and start anew",
            )
        secret = os.read(fd, KEY_BYTES + 1)
    finally:
        os.close(fd)
    if len(secret) != KEY_BYTES:
        raise KeyMissing(
            f"`{path}` is not a log key", hint="remove it; runs it signed can then be read but not resumed"
        )
    return _key(secret)


class KeyRing:
    """All keys of one directory; `log.key` signs, every `*.key` may verify."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def current(self) -> LogKey:
        """The key new logs are signed with, made on first use."""
        path = self.directory / CURRENT
        try:
            return _read(path)
        except FileNotFoundError:
            return self._create(path)
        except PermissionError as error:
            raise AccessRefused(f"the log key `{path}` cannot be read") from error

    def find(self, key_id: str) -> LogKey | None:
        """The key with this id, if it is here."""
        for path in sorted(self.directory.glob("*.key")):
            key = _read(path)
            if key.id == key_id:
                return key
        return None

    def _create(self, path: Path) -> LogKey:
        draft = self.directory / f".{CURRENT}.{os.getpid()}.{os.urandom(4).hex()}"
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise AccessRefused(
                f"no log key can be made in `{self.directory}`", hint="make the state directory writable"
            ) from error
        try:
            os.write(fd, os.urandom(KEY_BYTES))
            os.fsync(fd)
            os.link(draft, path)  # whoever links first wins; a key is never replaced
        except FileExistsError:
            pass
        finally:
            os.close(fd)
            draft.unlink()
        return _read(path)
