"""Takes a file away without losing it, and gives a file another name without losing what had it."""

import errno
import itertools
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from skills_runtime.errors import ValidationFailed
from skills_runtime.runs.files.content import check_regular, lstat, opened
from skills_runtime.runs.files.locate import Place
from skills_runtime.runs.files.paths import shown
from skills_runtime.runs.files.replace import create, remove, sync_directory
from skills_runtime.runs.layout import DIRECTORY_MODE, FILE_MODE
from skills_runtime.storage.beneath import open_root
from skills_runtime.storage.files import copy_at_most

_LISTED = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_NAME_BYTES = 200


def discard(place: Place, trash: Path, limit: int) -> None:
    """Move a file into the trash under a fresh name; to another device at most `limit` bytes are copied."""
    check_movable(place)
    directory = _open_trash(trash)
    try:
        _move_in(place, directory, limit)
    finally:
        os.close(directory)


def move(source: Place, target: Place) -> None:
    """Give a file another name, which nothing has yet."""
    check_movable(source)
    fd, name = create(target.parent, (target.name,), FILE_MODE)
    os.close(fd)
    try:
        os.rename(source.name, name, src_dir_fd=source.parent, dst_dir_fd=target.parent)
    except OSError as error:
        remove(target.parent, name)
        if error.errno != errno.EXDEV:
            raise
        raise ValidationFailed(
            f"`{shown(str(target.location))}` is on another device", hint="read the file and write it there"
        ) from error
    sync_directory(target.parent)
    sync_directory(source.parent)


def check_movable(place: Place) -> os.stat_result:
    """Raise unless the name is a regular file or a link; directories could carry protected files along."""
    found = lstat(place)
    if not stat.S_ISLNK(found.st_mode):
        check_regular(found, place)
    return found


def _open_trash(trash: Path) -> int:
    above = open_root(trash.parent)
    try:
        with suppress(FileExistsError):
            os.mkdir(trash.name, DIRECTORY_MODE, dir_fd=above)
        return os.open(trash.name, _LISTED, dir_fd=above)
    finally:
        os.close(above)


def _move_in(place: Place, directory: int, limit: int) -> None:
    fd, name = create(directory, _names(place, directory), FILE_MODE)
    try:
        try:
            os.rename(place.name, name, src_dir_fd=place.parent, dst_dir_fd=directory)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            _copy_in(place, directory, name, fd, limit)
    except BaseException:
        remove(directory, name)
        raise
    finally:
        os.close(fd)
    sync_directory(directory)
    sync_directory(place.parent)


def _names(place: Place, directory: int) -> Iterator[str]:
    name = os.fsdecode(os.fsencode(place.name)[:_MAX_NAME_BYTES])
    return (f"{number}-{name}" for number in itertools.count(len(os.listdir(directory)) + 1))


def _copy_in(place: Place, directory: int, name: str, fd: int, limit: int) -> None:
    """Copy, and only then remove what was copied."""
    copied = check_movable(place)
    if stat.S_ISLNK(copied.st_mode):
        target = os.readlink(place.name, dir_fd=place.parent)
        os.unlink(name, dir_fd=directory)
        os.symlink(target, name, dir_fd=directory)
    else:
        copied = _copy_content(place, fd, limit)
    if not os.path.samestat(copied, lstat(place)):
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    os.unlink(place.name, dir_fd=place.parent)


def _copy_content(place: Place, fd: int, limit: int) -> os.stat_result:
    with opened(place) as source:
        if copy_at_most(source, fd, limit + 1) > limit:
            raise ValidationFailed(
                f"`{shown(str(place.location))}` is too large to be moved to the trash on another device",
                hint="leave it to the user",
            )
        os.fsync(fd)
        return os.fstat(source)
