"""One writer per run: an advisory lock that the kernel drops when its holder dies, however it dies."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from skills_runtime.errors import LogLocked
from skills_runtime.runs.layout import FILE_MODE


class RunLock:
    """Held from construction until `release`; the file names the holder for people."""

    def __init__(self, path: Path | str) -> None:
        self._fd = self._acquire(path)
        with suppress(OSError):  # the name is for people; a full disk does not weaken the lock
            os.pwrite(self._fd, b"%-19d\n" % os.getpid(), 0)  # as wide as any other, so that nothing of it is left

    def release(self) -> None:
        """Let the next writer in."""
        if self._fd >= 0:
            # Closing alone would leave the lock to a child that was forked meanwhile and has not called exec yet.
            fcntl.flock(self._fd, fcntl.LOCK_UN)
            os.close(self._fd)
            self._fd = -1

    def _acquire(self, path: Path | str) -> int:
        while True:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.pread(fd, 20, 0).decode(errors="replace").strip()
                os.close(fd)
                name = Path(path).parent.name  # it may be a sub-agent of the run that somebody has named
                message = f"another process (pid {holder or 'unknown'}) is writing the run `{name}`"
                raise LogLocked(message, run_id=name) from None
            if _is_still(path, fd):
                return fd
            os.close(fd)  # somebody replaced the file while we waited for it


def _is_still(path: Path | str, fd: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(fd))
    except FileNotFoundError:
        return False
