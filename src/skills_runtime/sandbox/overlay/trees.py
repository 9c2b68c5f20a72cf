"""Reads a tree without following a link: every step is taken from an open directory to a name in it."""

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

from skills_runtime.sandbox.overlay.descent import DIRECTORY, STEP, Descent
from skills_runtime.sandbox.overlay.values import KINDS, Entry, Stamp
from skills_runtime.sandbox.protected import READ_ONLY, RUNTIME_DIRECTORY
from skills_runtime.sandbox.survey import PLACEHOLDER_MODES

PIECE = 1 << 20
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_KEPT_FREE = READ_ONLY | {RUNTIME_DIRECTORY}

Visit = Callable[[int, str, str, os.stat_result], bool]
"""The directory, the name in it, the path within the tree, what it is; says whether to go into a directory."""


def walk(root: str, visit: Visit, *, ours: bool) -> None:
    """Visit everything in a tree, parents first, in the order of names; `ours` means that modes are not in the way."""
    with Descent(root) as descent:
        pending = [iter(names_in(descent.directory))]
        while pending:
            name = next(pending[-1], None)
            if name is None:
                pending.pop()
                descent.leave()
                continue
            path = f"{descent.prefix}{name}"
            try:
                found = os.stat(name, dir_fd=descent.directory, follow_symlinks=False)
            except FileNotFoundError:
                continue
            if visit(descent.directory, name, path, found) and stat.S_ISDIR(found.st_mode):
                descent.enter(name, found, ours=ours)
                pending.append(iter(names_in(descent.directory)))


def names_in(directory: int) -> list[str]:
    """The names in an open directory, in their order."""
    with os.scandir(directory) as entries:
        return sorted(entry.name for entry in entries)


def only_keeps_a_name(directory: int, name: str, found: os.stat_result) -> bool:
    """Whether it is there only so that a command cannot make it: by its mode, by its name, and by being empty."""
    if found.st_mode not in PLACEHOLDER_MODES or name not in _KEPT_FREE:
        return False
    if stat.S_ISREG(found.st_mode):
        return found.st_size == 0
    try:
        with opened(name, DIRECTORY, directory) as inner:
            return not names_in(inner)
    except OSError:
        return False


@contextmanager
def opened(name: str, flags: int, directory: int | None = None) -> Generator[int]:
    """A descriptor for the time of a block."""
    descriptor = os.open(name, flags, dir_fd=directory)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def parent_of(root: int, path: str) -> Generator[tuple[int, str]]:
    """The directory that holds a path, reached from the root step by step, and the last name of the path."""
    *above, name = path.split("/")
    descriptor = os.dup(root)
    try:
        for part in above:
            inner = os.open(part, STEP, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor, name
    finally:
        os.close(descriptor)


@contextmanager
def accessible(directory: int, name: str, found: os.stat_result, *, ours: bool = True) -> Generator[None]:
    """Let the owner into what is theirs for the time of a block, whatever its mode says."""
    needed = stat.S_IRWXU if stat.S_ISDIR(found.st_mode) else stat.S_IRUSR
    if not ours or os.geteuid() == 0 or found.st_mode & needed == needed or found.st_uid != os.geteuid():
        yield
        return
    os.chmod(name, stat.S_IMODE(found.st_mode) | needed, dir_fd=directory)
    try:
        yield
    finally:
        os.chmod(name, stat.S_IMODE(found.st_mode), dir_fd=directory)


def entry_of(
    directory: int, name: str, found: os.stat_result, *, digest: str | None = None, ours: bool = True
) -> Entry:
    """What is there under a name; `digest` saves reading a file whose content is known."""
    kind = KINDS.get(stat.S_IFMT(found.st_mode), "other")
    mode = stat.S_IMODE(found.st_mode)
    match kind:
        case "link":
            return Entry("link", 0, os.readlink(name, dir_fd=directory))
        case "file":
            if digest is None:
                with accessible(directory, name, found, ours=ours), opened(name, FILE, directory) as descriptor:
                    digest = digest_of(descriptor)
            return Entry("file", mode, digest, found.st_size)
        case "directory" | "other":
            return Entry(kind, mode)


def entry_at(root: int, path: str) -> Entry | None:
    """What is at a path of a tree; nothing when there is nothing, or no real directory on the way."""
    try:
        with parent_of(root, path) as (directory, name):
            return entry_of(directory, name, os.stat(name, dir_fd=directory, follow_symlinks=False))
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return None
        raise


def digest_of(descriptor: int) -> str:
    """The digest of everything in an open file."""
    digest = hashlib.sha256()
    os.lseek(descriptor, 0, os.SEEK_SET)
    while piece := os.read(descriptor, PIECE):
        digest.update(piece)
    return digest.hexdigest()


def stamp_of(found: os.stat_result) -> Stamp:
    """What says that a file was not touched since."""
    return Stamp(found.st_ino, found.st_ctime_ns, found.st_size)


def remove_tree(directory: int, name: str) -> None:
    """Remove something of ours with everything in it, whatever modes say."""
    with suppress(FileNotFoundError):
        found = os.stat(name, dir_fd=directory, follow_symlinks=False)
        if not stat.S_ISDIR(found.st_mode):
            os.unlink(name, dir_fd=directory)
            return
        _open_to_owner(directory, name, found)
        with Descent(name, directory) as descent:
            _empty(descent)
        os.rmdir(name, dir_fd=directory)


def _empty(descent: Descent) -> None:
    """Remove what is in a directory, however deep it goes."""
    pending = [names_in(descent.directory)]
    while pending:
        if not pending[-1]:
            pending.pop()
            emptied = descent.leave()
            if emptied is not None:
                os.rmdir(emptied, dir_fd=descent.directory)
            continue
        name = pending[-1].pop()
        with suppress(FileNotFoundError):
            found = os.stat(name, dir_fd=descent.directory, follow_symlinks=False)
            if not stat.S_ISDIR(found.st_mode):
                os.unlink(name, dir_fd=descent.directory)
                continue
            _open_to_owner(descent.directory, name, found)
            descent.enter(name, found, ours=False)
            pending.append(names_in(descent.directory))


def _open_to_owner(directory: int, name: str, found: os.stat_result) -> None:
    if os.geteuid() != 0 and found.st_mode & stat.S_IRWXU != stat.S_IRWXU:
        os.chmod(name, stat.S_IRWXU, dir_fd=directory)
