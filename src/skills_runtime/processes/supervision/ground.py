"""The file system behind a fence: everything that is to be seen is laid out below a new root, step by step.

What comes from outside is fetched by its path; where it is put, no path outside matters any more. Nothing is ever
made outside: a place that is missing is made only in what was made here. An error is the end of the process that meets
it, so nothing is closed on that way.
"""

import errno
import os
import stat
from collections.abc import Callable, Sequence
from typing import Any

from .blueprint import Bind, Devices, Directory, File, Link, Memory, Processes, ReadOnly, Step
from .mounting import (
    NO_DEVICES,
    NO_PRIVILEGES,
    NO_PROGRAMS,
    READ_ONLY,
    attach,
    copy_of,
    file_system,
    keep_to_oneself,
    make_root,
    place_below,
    restrict,
)

FOOTING = "/sys"
"""A directory from which nothing is ever shown; nobody but the fence sees that something is mounted on it."""

DIRECTORY, ON_THE_WAY, FILE = stat.S_IFDIR | 0o755, stat.S_IFDIR | 0o700, stat.S_IFREG | 0o444
PLAIN = NO_PRIVILEGES | NO_DEVICES
DEVICES = (b"null", b"zero", b"full", b"random", b"urandom", b"tty")
DEVICE_LINKS = {
    b"fd": b"/proc/self/fd",
    b"stdin": b"/proc/self/fd/0",
    b"stdout": b"/proc/self/fd/1",
    b"stderr": b"/proc/self/fd/2",
    b"core": b"/proc/kcore",
    b"ptmx": b"pts/ptmx",
}
OF_THE_KERNEL = (b"sys", b"sysrq-trigger", b"irq", b"bus")
"""What a process with rights could change about the machine."""


def _fetched(step: "Step") -> "list[int]":
    """What a step needs from outside; nothing where nothing is, if it may be missing."""
    if isinstance(step, Bind):
        try:
            return [copy_of(step.source, PLAIN | READ_ONLY if step.read_only else PLAIN)]
        except OSError as error:
            if not step.optional or error.errno != errno.ENOENT:
                error.filename = step.place
                raise
    elif isinstance(step, Devices):
        return [copy_of(b"/dev/" + name, NO_PRIVILEGES) for name in DEVICES]
    return []


class Ground:
    """What has been laid out so far."""

    def __init__(self) -> None:
        keep_to_oneself()
        self._root = file_system(b"tmpfs", PLAIN, mode=b"755")
        footing = os.open(FOOTING, os.O_PATH | os.O_CLOEXEC)
        attach(self._root, footing)
        os.close(footing)
        self._ours = {os.fstat(self._root).st_dev}
        self._takers: dict[type, Callable[[Any, list[int]], None]] = {
            Bind: self._bind,
            Memory: self._memory,
            Directory: self._directory,
            Link: self._link,
            File: self._file,
            Processes: self._processes,
            Devices: self._devices,
            ReadOnly: self._read_only,
        }

    def lay(self, steps: "Sequence[Step]") -> None:
        """Take more steps."""
        fetched = [_fetched(step) for step in steps]
        for step, mounts in zip(steps, fetched, strict=True):
            try:
                self._takers[type(step)](step, mounts)
            except OSError as error:
                error.filename = step.place
                raise

    def enter(self) -> None:
        """Leave everything else behind."""
        make_root(self._root)
        os.close(self._root)

    def _bind(self, step: Bind, fetched: "list[int]") -> None:
        for mount in fetched:
            self._put(mount, step.place, directory=stat.S_ISDIR(os.fstat(mount).st_mode))

    def _memory(self, step: Memory, _: "list[int]") -> None:
        size = {"size": step.size} if step.size else {}
        self._put_new(file_system(b"tmpfs", PLAIN, mode=b"%o" % step.mode, **size), step.place)

    def _directory(self, step: Directory, _: "list[int]") -> None:
        os.close(self._place(step.place, missing=stat.S_IFDIR | step.mode))

    def _link(self, step: Link, _: "list[int]") -> None:
        above, name = self._above(step.place)
        os.symlink(step.target, name, dir_fd=above)
        os.close(above)

    def _file(self, step: File, _: "list[int]") -> None:
        above, name = (os.dup(self._root), b".covering") if step.covers else self._above(step.place)
        made = _new_file(above, name, step.mode)
        os.write(made, step.content)
        os.close(made)
        if step.covers:
            self._put(copy_of(name, PLAIN | READ_ONLY, directory=above), step.place, directory=False)
            os.unlink(name, dir_fd=above)
        os.close(above)

    def _processes(self, step: Processes, _: "list[int]") -> None:
        mount = file_system(b"proc", PLAIN | NO_PROGRAMS)
        shown = os.dup(mount)
        self._put(mount, step.place, directory=True)
        for name in OF_THE_KERNEL:
            try:
                covering = copy_of(name, PLAIN | NO_PROGRAMS | READ_ONLY, directory=shown)
            except FileNotFoundError:
                continue
            self._put(covering, b"%s/%s" % (step.place, name), directory=False)
        os.close(shown)

    def _devices(self, step: Devices, fetched: "list[int]") -> None:
        self._put_new(file_system(b"tmpfs", PLAIN, mode=b"755"), step.place)
        for name, mount in zip(DEVICES, fetched, strict=True):
            self._put(mount, b"%s/%s" % (step.place, name), directory=False)
        terminals = file_system(b"devpts", NO_PRIVILEGES | NO_PROGRAMS, newinstance=None, ptmxmode=b"0666", mode=b"620")
        self._put(terminals, step.place + b"/pts", directory=True)
        self._directory(Directory(step.place + b"/shm", stat.S_IMODE(DIRECTORY)), [])
        for name, target in DEVICE_LINKS.items():
            self._link(Link(b"%s/%s" % (step.place, name), target), [])

    def _read_only(self, step: ReadOnly, _: "list[int]") -> None:
        place = self._place(step.place)
        restrict(place, READ_ONLY)
        os.close(place)

    def _put_new(self, mount: int, path: bytes) -> None:
        """Put something in its place that is ours, so that more can be made in it."""
        self._ours.add(os.fstat(mount).st_dev)
        self._put(mount, path, directory=True)

    def _put(self, mount: int, path: bytes, *, directory: bool) -> None:
        place = self._place(path, missing=DIRECTORY if directory else FILE)
        attach(mount, place)
        os.close(place)
        os.close(mount)

    def _above(self, path: bytes) -> "tuple[int, bytes]":
        """The directory of a path, and the name in it; only in what is ours may something be made."""
        parent, _, name = path.rpartition(b"/")
        above = self._place(parent, missing=ON_THE_WAY)
        if os.fstat(above).st_dev not in self._ours:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return above, name

    def _place(self, path: bytes, *, missing: "int | None" = None) -> int:
        """The place with this path, made if it is missing and it is said in which mode."""
        try:
            return place_below(self._root, path.strip(b"/") or b".")
        except FileNotFoundError:
            if missing is None:
                raise
        above, name = self._above(path)
        if stat.S_ISDIR(missing):
            os.mkdir(name, stat.S_IMODE(missing), dir_fd=above)
        else:
            os.close(_new_file(above, name, stat.S_IMODE(missing)))
        place = place_below(above, name)
        os.close(above)
        return place


def _new_file(directory: int, name: bytes, mode: int) -> int:
    return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode, dir_fd=directory)
