"""The bytes of one regular file, reached by a name in an open directory."""

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager

from skills_runtime.errors import PathEscape, ValidationFailed
from skills_runtime.runs.files.locate import Place
from skills_runtime.runs.files.paths import shown
from skills_runtime.runs.files.policy import HardLinkRule
from skills_runtime.storage.files import sha256_of
from skills_runtime.storage.nofollow import LISTING

MAX_DIGEST_BYTES = 1_073_741_824
"""A file larger than this is not hashed only to note what it was."""

_MAX_TRIES = 8
_LOOKS = 8


def digest_of(fd: int) -> str | None:
    """The digest of an open file, or nothing when it is too large to be hashed in passing."""
    digest, count = sha256_of(fd, MAX_DIGEST_BYTES + 1) if os.fstat(fd).st_size <= MAX_DIGEST_BYTES else ("", 0)
    return digest if digest and count <= MAX_DIGEST_BYTES else None


def check_regular(found: os.stat_result, place: Place) -> None:
    """Raise unless `found` is a regular file."""
    name = shown(str(place.location))
    if stat.S_ISLNK(found.st_mode):
        raise PathEscape(f"`{name}` became a link while it was opened", hint="try again when nothing else changes it")
    if stat.S_ISDIR(found.st_mode):
        raise ValidationFailed(f"`{name}` is a directory", hint="name a file")
    if not stat.S_ISREG(found.st_mode):
        raise ValidationFailed(f"`{name}` is not a regular file", hint="name a regular file")


def other_name(place: Place) -> PathEscape:
    """The refusal of a file that has a second name."""
    return PathEscape(
        f"`{shown(str(place.location))}` has another name, which may be outside (a hard link)",
        hint="copy the file instead of linking it",
    )


def lstat(place: Place) -> os.stat_result:
    """What the name stands for now, a link for itself."""
    return os.stat(place.name, dir_fd=place.parent, follow_symlinks=False)


@contextmanager
def opened(place: Place, flags: int = os.O_RDONLY, *, hard_links: HardLinkRule = "allow") -> Generator[int]:
    """Open the regular file of that name, never through a link and never waiting for a peer."""
    fd = _open_settled(place, flags) if hard_links == "refuse" else _open_regular(place, flags)
    try:
        yield fd
    finally:
        os.close(fd)


def _open_regular(place: Place, flags: int) -> int:
    # Opening a device can have effects, so look first; what counts is the look at the open file.
    check_regular(lstat(place), place)
    fd = os.open(place.name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=place.parent)
    try:
        check_regular(os.fstat(fd), place)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _open_settled(place: Place, flags: int) -> int:
    """Open a file that has no name but this one."""
    for _ in range(_MAX_TRIES):
        fd = _open_regular(place, flags)
        try:
            links = os.fstat(fd).st_nlink
            if links == 1 and _is_settled(place, fd):
                return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)
        if links > 1:
            break
    raise other_name(place)


def _is_settled(place: Place, fd: int) -> bool:
    """Whether the open file is the one of that name, and has been all the while without another.

    A link that is made and removed around the looks shows in the time of change, which kernels before 6.13 keep only
    coarsely; hence many looks. While a link is being removed its name can still be found although it no longer counts,
    so the last look is taken when every removal under way has ended.
    """
    looks = [os.fstat(fd)]
    for _ in range(_LOOKS):
        looks += lstat(place), os.fstat(fd)
    _wait_for_removals(place.parent)
    looks += lstat(place), os.fstat(fd)
    facts = {(look.st_dev, look.st_ino, look.st_nlink, look.st_ctime_ns) for look in looks}
    return len(facts) == 1 and looks[0].st_nlink == 1


def _wait_for_removals(directory: int) -> None:
    """Begin to list the directory, which has to wait for whoever is changing it."""
    fd = os.open(".", LISTING, dir_fd=directory)
    try:
        with os.scandir(fd) as names:
            next(names, None)
    finally:
        os.close(fd)
