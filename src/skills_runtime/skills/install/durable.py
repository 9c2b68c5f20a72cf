"""Files and directories that are seen whole or not at all, also after a loss of power, and one writer at a time."""

import ctypes
import errno
import fcntl
import os
import shutil
import stat
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from skills_runtime.errors import ValidationFailed

_EXCHANGE = 2
_HERE = -100
_NOT_OFFERED = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)


@contextmanager
def only_one(directory: Path) -> Generator[None]:
    """Wait until nobody else works in a directory, which is made if need be; who dies lets go."""
    directory.mkdir(mode=0o755, parents=True, exist_ok=True)
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def write_whole(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Replace a file; whoever reads it, whenever, sees the old bytes or the new ones."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(3).hex()}")
    try:
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        with open(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def sync_tree(directory: Path) -> None:
    """Make everything below a directory outlast a loss of power."""
    for here, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(here, name)
            if not stat.S_ISREG(os.lstat(path).st_mode):
                continue
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
        sync_directory(Path(here))


def sync_directory(directory: Path) -> None:
    """Make the names in a directory outlast a loss of power."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def put_in_place(new: Path, place: Path, aside: Path) -> None:
    """Move a directory to its place; what was there goes to `aside`, in the same instant where the system can do it."""
    if not os.path.lexists(place):
        new.rename(place)
    elif _exchanged(new, place):
        new.rename(aside)
    else:
        place.rename(aside)
        new.rename(place)
    sync_directory(place.parent)


def real_directory(path: Path) -> Path:
    """A directory that is made if need be; a link in its place is refused, since somebody else chose where it leads."""
    with suppress(FileExistsError):
        path.mkdir(mode=0o755, parents=True)
    if not stat.S_ISDIR(path.lstat().st_mode):
        raise ValidationFailed(f"`{path}` is not a directory", hint="remove it and try again")
    return path


def remove_whole(path: Path) -> None:
    """Remove whatever is at a path, never what a link leads to."""
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    shutil.rmtree(path, onerror=_made_writable)


def _made_writable(function: object, path: str, _: object) -> None:
    """A directory that its owner may not write is made writable, and its removal tried once more."""
    parent = Path(path).parent
    for each in (parent, Path(path)):
        if each.is_dir() and not each.is_symlink():
            each.chmod(0o700)
    if Path(path).is_dir() and not Path(path).is_symlink():
        shutil.rmtree(path)
    else:
        Path(path).unlink(missing_ok=True)
    del function


def _exchanged(one: Path, other: Path) -> bool:
    """Swap two directories in one step; false where the system or the disk cannot."""
    if sys.platform != "linux":
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _NOT_OFFERED:
        return False
    raise OSError(number, os.strerror(number), str(other))
