"""Who runs which execution: a lock that the system takes back when its holder dies, and a mark for each execution.

So whoever comes next sees at once, without reading any record, what was under way when somebody was killed.
"""

import fcntl
import os
import shutil
from pathlib import Path

from skills_runtime.clock import RandomIds
from skills_runtime.executions.places import Place, is_execution_id

LOCK = "lock"


class Owner:
    """This process as the runner of executions."""

    def __init__(self, place: Place) -> None:
        self.name = RandomIds().new("owner")
        self._directory = place.runtime / "owners" / self.name
        # Made aside under a lock: nobody may take a directory for a dead one's before it is locked.
        aside = place.runtime / "owners" / f".{self.name}"
        aside.mkdir(mode=0o700)
        self._lock = os.open(aside / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        aside.rename(self._directory)

    def begins(self, execution_id: str) -> None:
        """Mark an execution as under way."""
        os.close(os.open(self._directory / execution_id, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))

    def ended(self, execution_id: str) -> None:
        """Take the mark away: the execution is settled."""
        (self._directory / execution_id).unlink(missing_ok=True)

    def close(self) -> None:
        """Give up; what is still marked is settled by whoever comes next."""
        if self._lock >= 0:
            if os.listdir(self._directory) == [LOCK]:  # noqa: PTH208
                shutil.rmtree(self._directory, ignore_errors=True)
            os.close(self._lock)
            self._lock = -1


def is_alive(place: Place, owner: str) -> bool:
    """Whether somebody of this name still runs executions."""
    lock = place.runtime / "owners" / owner / LOCK
    try:
        fd = os.open(lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def left_behind(place: Place) -> "list[tuple[Path, list[str]]]":
    """The directories of owners who are dead, with the executions they left."""
    found: list[tuple[Path, list[str]]] = []
    for directory in sorted((place.runtime / "owners").iterdir()):
        if not directory.name.startswith(".") and not is_alive(place, directory.name):
            try:
                names = os.listdir(directory)  # noqa: PTH208
            except FileNotFoundError:  # another process settles it at the same time
                continue
            found.append((directory, [name for name in names if is_execution_id(name)]))
    return found
