"""Open and close the ledger; one process at a time creates and migrates the file.

Never opens the ledger file itself: closing any descriptor of it would drop SQLite's locks of this process.
"""

import os
import stat
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from skills_runtime.errors import AccessRefused, SkillsRuntimeError, StorageFailed, ValidationFailed
from skills_runtime.ledger.database import REBUILD_HINT, Database, migrate
from skills_runtime.ledger.inbox import SqliteInbox
from skills_runtime.ledger.index import RunIndex
from skills_runtime.ports import Clock, Ids
from skills_runtime.storage import PRIVATE_FILE, create_directories, lock_file, open_new, sync_path

LEDGER_FILE = "ledger.db"
LOCK_FILE = "ledger.lock"
_SIDE_FILES = ("-wal", "-shm")


@contextmanager
def prepare_state_directory(state_home: Path) -> Generator[Path]:
    """Hold the state directory while the ledger file in it is created and migrated; yields the file's path."""
    home = Path(os.path.abspath(state_home))
    with ExitStack() as stack:
        with _translate_errors(home):
            create_directories(home)
            _check_directory(home)
            # SQLite does not wait when two processes switch a new file to WAL at once, so they take turns here.
            stack.enter_context(lock_file(home / LOCK_FILE))
            path = _prepare_file(home)
        yield path


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


def _prepare_file(home: Path) -> Path:
    path = home / LEDGER_FILE
    with suppress(FileExistsError):
        os.close(open_new(path))
        sync_path(home)
    if not stat.S_ISREG(path.lstat().st_mode):
        raise StorageFailed(f"`{path}` is not a regular file", hint=REBUILD_HINT)
    for file in (path, *(home / f"{LEDGER_FILE}{suffix}" for suffix in _SIDE_FILES)):
        with suppress(FileNotFoundError):
            if stat.S_IMODE(file.lstat().st_mode) & 0o077:
                file.chmod(PRIVATE_FILE)
    return path


@contextmanager
def _translate_errors(home: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise _translate_error(error, home) from error
    except ValueError as error:
        raise ValidationFailed(
            f"`{home!s}` cannot be a state directory: {error}", hint="name a directory of your own"
        ) from error


def _translate_error(error: OSError, home: Path) -> SkillsRuntimeError:
    reason = error.strerror or str(error)
    if isinstance(error, PermissionError):
        return AccessRefused(
            f"the state directory `{home}` cannot be used: {reason}", hint="check who owns it, or name another"
        )
    return StorageFailed(
        f"the state directory `{home}` cannot be used: {reason}", hint="fix the disk or name another directory"
    )


@dataclass(frozen=True, slots=True)
class Ledger:
    """The index of runs and their inbox, in one file."""

    index: RunIndex
    inbox: SqliteInbox

    def close(self) -> None:
        """Close both connections; repeating it has no effect."""
        self.index.close()
        self.inbox.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def open_ledger(state_home: Path, *, clock: Clock, ids: Ids) -> Ledger:
    """Open the ledger of a state directory, creating both when they are missing."""
    with prepare_state_directory(state_home) as path:
        durable = Database(path, durability="full")
        try:
            migrate(durable, applied_at=clock.now())
            derived = Database(path, durability="normal")
        except BaseException:
            durable.close()
            raise
    return Ledger(index=RunIndex(derived), inbox=SqliteInbox(durable, derived, clock=clock, ids=ids))
