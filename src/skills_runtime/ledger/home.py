"""The state directory and the ledger file in it: who may see them, and one process at a time while opening.

Never opens the ledger file itself: closing any descriptor of it would drop SQLite's locks of this process.
"""

import fcntl
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from skills_runtime.errors import AccessRefused, SkillsRuntimeError, StorageFailed, ValidationFailed
from skills_runtime.ledger.database import REBUILD_HINT
from skills_runtime.runs.layout import DIRECTORY_MODE, FILE_MODE

LEDGER_FILE = "ledger.db"
LOCK_FILE = "ledger.lock"
_SIDE_FILES = ("-wal", "-shm")


@contextmanager
def opening(state_home: Path) -> Generator[Path]:
    """Hold the state directory while the ledger file in it is created and migrated; yields the file's path."""
    home = Path(os.path.abspath(state_home))
    lock = _locked(home)
    try:
        with _in_our_words(home):
            path = _ready_file(home)
        yield path
    finally:
        os.close(lock)


def _locked(home: Path) -> int:
    with _in_our_words(home):
        _make_directory(home)
        _check_directory(home)
        lock = os.open(home / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE)
        try:
            # SQLite does not wait when two processes switch a new file to WAL at once, so they take turns here.
            fcntl.flock(lock, fcntl.LOCK_EX)
        except BaseException:
            os.close(lock)
            raise
        return lock


def _make_directory(path: Path) -> None:
    """Create `path` and its parents for the owner only, each one on stable storage."""
    if path.is_dir():
        return
    _make_directory(path.parent)
    path.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
    _sync_directory(path.parent)


def _check_directory(home: Path) -> None:
    status = home.stat()
    if status.st_uid != os.geteuid():
        raise AccessRefused(
            f"the state directory `{home}` belongs to another user", hint="name a directory of your own"
        )
    if status.st_mode & 0o022:
        raise AccessRefused(
            f"others may write in the state directory `{home}`", hint="name a directory that only you can write"
        )


def _ready_file(home: Path) -> Path:
    path = home / LEDGER_FILE
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, FILE_MODE))
        _sync_directory(home)
    if not stat.S_ISREG(path.lstat().st_mode):
        raise StorageFailed(f"`{path}` is not a regular file", hint=REBUILD_HINT)
    for file in (path, *(home / f"{LEDGER_FILE}{suffix}" for suffix in _SIDE_FILES)):
        with suppress(FileNotFoundError):
            _close_to_others(file)
    return path


def _close_to_others(file: Path) -> None:
    if stat.S_IMODE(file.lstat().st_mode) & 0o077:
        file.chmod(FILE_MODE)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _in_our_words(home: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise _translated(error, home) from error
    except ValueError as error:
        raise ValidationFailed(
            f"`{home!s}` cannot be a state directory: {error}", hint="name a directory of your own"
        ) from error


def _translated(error: OSError, home: Path) -> SkillsRuntimeError:
    reason = error.strerror or str(error)
    if isinstance(error, PermissionError):
        return AccessRefused(
            f"the state directory `{home}` cannot be used: {reason}", hint="check who owns it, or name another"
        )
    return StorageFailed(
        f"the state directory `{home}` cannot be used: {reason}", hint="fix the disk or name another directory"
    )
