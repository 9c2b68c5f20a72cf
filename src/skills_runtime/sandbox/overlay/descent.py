"""Goes down into a tree and up again with one open directory, so that no depth is too deep.

Nothing is followed: down by a name in the open directory, up only to the very directory one came from.
"""

import errno
import os
import stat
from types import TracebackType
from typing import NamedTuple

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
STEP = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class _Level(NamedTuple):
    """A directory that was left for one in it."""

    above: os.stat_result
    name: str
    mode: int | None
    """What the inner one is given back when it is left."""
    length: int
    """Of the prefix up here."""


class Descent:
    """Where one is in a tree."""

    def __init__(self, root: str, parent: int | None = None) -> None:
        self.directory = os.open(root, DIRECTORY, dir_fd=parent)
        self.prefix = ""
        """What stands before a name in this directory, in paths within the tree."""
        self._levels: list[_Level] = []

    def __enter__(self) -> "Descent":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            while self._levels:  # modes are given back, whatever has happened
                self.leave()
        finally:
            os.close(self.directory)

    def enter(self, name: str, found: os.stat_result, *, ours: bool) -> None:
        """Go into a directory; one of ours is opened to its owner meanwhile, whatever its mode says."""
        mode = stat.S_IMODE(found.st_mode)
        closed = ours and 0 != os.geteuid() == found.st_uid and not _is_open(mode)
        if closed:
            os.chmod(name, mode | stat.S_IRWXU, dir_fd=self.directory)
        above = os.fstat(self.directory)
        try:
            inner = os.open(name, DIRECTORY, dir_fd=self.directory)
        except OSError:
            if closed:
                os.chmod(name, mode, dir_fd=self.directory)
            raise
        os.close(self.directory)
        self.directory = inner
        self._levels.append(_Level(above, name, mode if closed else None, len(self.prefix)))
        self.prefix += f"{name}/"

    def leave(self) -> str | None:
        """Go up again and tell the name of what was left; nothing at the top, which is not left."""
        if not self._levels:
            return None
        level = self._levels.pop()
        above = os.open("..", DIRECTORY, dir_fd=self.directory)
        if level.mode is not None:
            os.fchmod(self.directory, level.mode)
        os.close(self.directory)
        self.directory = above
        self.prefix = self.prefix[: level.length]
        if not os.path.samestat(os.fstat(above), level.above):
            self._levels.clear()
            raise OSError(errno.ESTALE, "a directory was moved while it was read", level.name)
        return level.name


def _is_open(mode: int) -> bool:
    return mode & stat.S_IRWXU == stat.S_IRWXU
