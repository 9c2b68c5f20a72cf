"""Reads a tree without following a link: every step is taken from an open directory to a name in it."""

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

from skills_runtime.sandbox.overlay.values import KINDS, Entry, Stamp

PIECE = 1 << 20
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
STEP = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK

Visit = Callable[[int, str, str, os.stat_result], bool]
"""The directory, the name in it, the path within the tree, what it is; says whether to go into a directory."""


def walk(root: str, visit: Visit, *, ours: bool) -> None:
    """Visit everything in a tree, parents first, in the order of names; `ours` means that modes are not in the way."""
    with opened(root, DIRECTORY) as descriptor:
        _walk(descriptor, "", visit, ours=ours)


def _walk(directory: int, prefix: str, visit: Visit, *, ours: bool) -> None:
    for name in names_in(directory):
        path = f"{prefix}{name}"
        try:
            found = os.stat(name, dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            continue
        if visit(directory, name, path, found) and stat.S_ISDIR(found.st_mode):
            with accessible(directory, name, found, ours=ours), opened(name, DIRECTORY, directory) as inner:
                _walk(inner, f"{path}/", visit, ours=ours)


def names_in(directory: int) -> list[str]:
    """The names in an open directory, in their order."""
    with os.scandir(directory) as entries:
        return sorted(entry.name for entry in entries)


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
        if os.geteuid() != 0 and found.st_mode & stat.S_IRWXU != stat.S_IRWXU:
            os.chmod(name, stat.S_IRWXU, dir_fd=directory)
        with opened(name, DIRECTORY, directory) as inner:
            for one in names_in(inner):
                remove_tree(inner, one)
        os.rmdir(name, dir_fd=directory)
