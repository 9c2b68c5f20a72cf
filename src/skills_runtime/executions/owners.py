"""Who runs which execution: a lock that the system takes back when its holder dies, and a journal of what it began.

So whoever comes next sees at once, without reading any record, what was under way when somebody was killed.
"""

import fcntl
import os
import shutil
import threading
from pathlib import Path

from skills_runtime.clock import RandomIds
from skills_runtime.executions.places import Place, is_execution_id, sync_directory, write_new

LOCK, JOURNAL = "lock", "journal"
MAX_LINES = 20_000
"""After which the journal is written anew, with only what is still under way."""
_APPENDING = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC


class Owner:
    """This process as the runner of executions."""

    def __init__(self, place: Place) -> None:
        self.name = RandomIds().new("owner")
        self._directory = place.runtime / "owners" / self.name
        # Made aside and locked: nobody may take a directory for a dead one's before it is.
        aside = place.runtime / "owners" / f".{self.name}"
        aside.mkdir(mode=0o700)
        self._lock = os.open(aside / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._journal = os.open(aside / JOURNAL, _APPENDING, 0o600)
        aside.rename(self._directory)
        self._under_way: set[str] = set()
        self._lines = 0
        self._is_secure = False
        self._writing = threading.Lock()

    def begins(self, execution_id: str, *, durable: bool = False) -> None:
        """Note that an execution is under way; whoever finds the machine after a loss of power learns it, if wanted."""
        with self._writing:
            self._under_way.add(execution_id)
            self._note(f"+{execution_id}\n")
            if durable:
                os.fsync(self._journal)
                if not self._is_secure:
                    sync_directory(self._directory)
                    sync_directory(self._directory.parent)
                    self._is_secure = True

    def ended(self, execution_id: str) -> None:
        """Note that an execution is settled."""
        with self._writing:
            self._under_way.discard(execution_id)
            self._note(f"-{execution_id}\n")

    def close(self) -> None:
        """Give up; what is still under way is settled by whoever comes next."""
        if self._lock >= 0:
            if not self._under_way:
                shutil.rmtree(self._directory, ignore_errors=True)
            os.close(self._journal)
            os.close(self._lock)
            self._lock = -1

    def _note(self, line: str) -> None:
        os.write(self._journal, line.encode("ascii"))
        self._lines += 1
        if self._lines > MAX_LINES:
            self._shorten()

    def _shorten(self) -> None:
        aside = self._directory / f".{JOURNAL}"
        write_new(aside, "".join(f"+{name}\n" for name in sorted(self._under_way)).encode("ascii"))
        journal = os.open(aside, _APPENDING)
        aside.rename(self._directory / JOURNAL)
        self._is_secure = False
        os.close(self._journal)
        self._journal, self._lines = journal, 0


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


def left_behind(place: Place) -> list[tuple[Path, list[str]]]:
    """The directories of owners who are dead, with the executions they left."""
    found: list[tuple[Path, list[str]]] = []
    for directory in sorted((place.runtime / "owners").iterdir()):
        if not directory.name.startswith(".") and not is_alive(place, directory.name):
            try:
                lines = (directory / JOURNAL).read_text(encoding="ascii", errors="replace").splitlines()
            except FileNotFoundError:  # another process settles it at the same time
                continue
            found.append((directory, _under_way(lines)))
    return found


def _under_way(lines: list[str]) -> list[str]:
    """What began and did not end; a line that was cut off when its writer was killed names nothing."""
    names: dict[str, None] = {}
    for line in lines:
        if line.startswith("+") and is_execution_id(line[1:]):
            names[line[1:]] = None
        else:
            names.pop(line[1:], None)
    return list(names)
