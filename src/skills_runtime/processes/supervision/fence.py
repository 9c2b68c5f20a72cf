"""Puts up a fence without a program, by the same options and in the same order as bubblewrap does.

The first process behind it is a copy of the supervisor, born before it is needed if possible: that it takes time to be
born is then nobody's concern. When everything is mounted, the supervisor looks whether all is where it was planned, and
only then hands over the filter of system calls, without which nothing begins. What does not work out before that leaves
nothing behind, and is left to the program.
"""

import ctypes
import errno
import os
import select
import signal
import socket
import sys
from io import FileIO
from typing import NoReturn

from .blueprint import Bind, Frame
from .keeper import Origin, keep
from .kernel import SPACES, checked, library
from .limits import PATIENCE
from .orders import Talk

MOUNTS = 0x20000

_CLONE = {"x86_64": 56, "aarch64": 220}.get(os.uname().machine) if sys.maxsize > 1 << 32 else None
_ARGUMENTS = slice(45, 47)
"""From where to where the arguments of a process are in memory, among what the kernel tells after its name."""


class Newborn:
    """The first process of a fence that waits to be told which."""

    def __init__(self, frame: Frame) -> None:
        origin = Origin(os.geteuid(), os.getegid(), _arguments())
        self._shown = _shown(frame)
        ours, theirs = socket.socketpair()
        ours.settimeout(PATIENCE)  # somebody may have stopped it
        with theirs:
            try:
                self.process = _copied(frame)
            except OSError:
                ours.close()
                raise
            if self.process == 0:
                _end_as_keeper(frame, origin, ours, theirs)
        self.frame = frame
        self.talk = Talk(ours)

    def fits(self, frame: Frame) -> bool:
        """Whether it was born like this, and everything it shows from outside is still what it was."""
        return self.frame == frame and self._shown == _shown(frame)

    def take_down(self) -> None:
        """End it, and whatever it has put up."""
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        self.talk.close()


class Nursery:
    """The next first process, if there is one already; it shows what was there when it was born."""

    def __init__(self, control: socket.socket) -> None:
        self._next: Newborn | None = None
        self._mounts: FileIO | None = None
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)

    def wait(self) -> None:
        """Wait for a word of the runtime; have none as soon as something is mounted otherwise than it was."""
        said = False
        while not said:
            for descriptor, _ in self._poll.poll():
                if self._mounts is not None and descriptor == self._mounts.fileno():
                    self.clear()
                else:
                    said = True

    def take(self, frame: Frame) -> Newborn:
        """One that is born like this."""
        newborn, self._next = self._next, None
        if newborn is not None and not newborn.fits(frame):
            newborn.take_down()
            newborn = None
        return newborn or Newborn(frame)

    def prepare(self, frame: Frame) -> None:
        """Have one ready for the next command."""
        try:
            self._look_at_mounts()
            self._next = Newborn(frame)
        except OSError:  # whoever needs one will see
            self._next = None

    def clear(self) -> None:
        """Have none."""
        if self._next is not None:
            self._next.take_down()
            self._next = None

    def _look_at_mounts(self) -> None:
        """What has changed until now is seen by whoever is born from now on."""
        if self._mounts is None:
            self._mounts = FileIO("/proc/self/mountinfo")
            self._poll.register(self._mounts, select.POLLPRI)
        self._poll.poll(0)


def _shown(frame: Frame) -> "list[tuple[int, int] | None]":
    """Which files and directories are shown from outside: a file that was replaced is another one."""
    sources = dict.fromkeys(step.source for step in frame.ground if isinstance(step, Bind))
    return [_identity(source) for source in sources]


def _identity(path: bytes) -> "tuple[int, int] | None":
    try:
        found = os.stat(path)  # noqa: PTH116 - nothing more is imported here
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _copied(frame: Frame) -> int:
    """A copy of this process in namespaces of its own: its number, and nothing in the copy."""
    if _CLONE is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    flags = MOUNTS | signal.SIGCHLD
    for name in frame.namespaces:
        flags |= SPACES[name]
    return checked(library.syscall(_CLONE, ctypes.c_ulong(flags), 0, 0, 0, 0))


def _end_as_keeper(frame: Frame, origin: Origin, ours: socket.socket, theirs: socket.socket) -> NoReturn:
    try:
        ours.close()
        keep(frame, origin, Talk(theirs))
    finally:
        # A copy of the supervisor must never go on as one.
        os._exit(1)


def _arguments() -> "tuple[int, int]":
    """Where the arguments of this process are in memory, and how much room they have."""
    if not _known:
        with open("/proc/self/stat", "rb", buffering=0) as file:
            fields = file.readall().rpartition(b")")[2].split()
        start, end = (int(field) for field in fields[_ARGUMENTS])
        _known.append((start, end - start))
    return _known[0]


_known: "list[tuple[int, int]]" = []
