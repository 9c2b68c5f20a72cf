"""Directories that stand where nothing may come to be while a command runs, and are gone afterwards.

Several commands may share one: each holds a lock on it, and the last one removes it. A sticky bit on an empty
directory tells one that a killed supervisor left behind from one that somebody made.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Iterable

MODE = 0o1755
KEPT_MODE = 0o755

_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT)
"""Where this user cannot make anything the command cannot either."""


class Placeholders:
    """Those of one command."""

    def __init__(self) -> None:
        self._parents: dict[str, int] = {}
        self._held: list[tuple[int, str, int]] = []

    def hold(self, paths: Iterable[str]) -> None:
        """Make each, or share it; what exists otherwise is left alone, unless it is a link."""
        for path in paths:
            parent, name = os.path.split(path)
            try:
                self._hold(self._parent(parent), name)
            except OSError as error:
                if error.errno not in _FORBIDDEN:
                    raise

    def release(self) -> None:
        """Remove those that nobody else holds and nobody has put anything into."""
        for parent, name, descriptor in self._held:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.rmdir(name, dir_fd=parent)
            except BlockingIOError:
                pass
            except OSError:  # somebody uses it: then it is theirs
                os.fchmod(descriptor, KEPT_MODE)
            finally:
                os.close(descriptor)
        for descriptor in self._parents.values():
            os.close(descriptor)
        self._held, self._parents = [], {}

    def _parent(self, path: str) -> int:
        if path not in self._parents:
            descriptor = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            if os.readlink(f"/proc/self/fd/{descriptor}") != path:  # noqa: PTH115 - nothing more is imported here
                os.close(descriptor)
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            self._parents[path] = descriptor
        return self._parents[path]

    def _hold(self, parent: int, name: str) -> None:
        while True:
            mask = os.umask(0)
            try:
                os.mkdir(name, MODE, dir_fd=parent)
            except FileExistsError:
                if not _is_placeholder(parent, name):
                    return
            finally:
                os.umask(mask)
            try:
                descriptor = os.open(name, os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
            except FileNotFoundError:  # the last one who held it has just removed it
                continue
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            if os.fstat(descriptor).st_nlink:
                self._held.append((parent, name, descriptor))
                return
            os.close(descriptor)


def _is_placeholder(parent: int, name: str) -> bool:
    try:
        mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return True  # gone again: it can be made now
    if stat.S_ISLNK(mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return stat.S_ISDIR(mode) and stat.S_IMODE(mode) == MODE
