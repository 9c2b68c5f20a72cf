"""The files of a skill, opened name by name so that no link, `..` or race leads out of its directory.

Errors of the system stay what they are; a link anywhere on the way is `ELOOP`.
"""

import errno
import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

ENTERING = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Opens a directory only to go on from it."""
LISTING = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Opens a directory to see what is in it."""
# O_NONBLOCK: a named pipe in the place of a file must not hold us up before we can see what it is.
_READING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_PIECE = 1 << 20
"""How much is read at once."""


def inner_parts(path: str) -> tuple[str, ...] | None:
    """The names of a relative path that stays below where it begins, or nothing for any other path."""
    parts = tuple(path.split("/"))
    legal = all(part not in ("", ".", "..") and "\0" not in part for part in parts)
    return parts if legal else None


@contextmanager
def opened(path: Path) -> Generator[int]:
    """A real directory, open; there must be no link in its whole path."""
    top = os.open("/", ENTERING)
    try:
        fd = open_below(top, path.absolute().parts[1:], ENTERING)
    finally:
        os.close(top)
    try:
        yield fd
    finally:
        os.close(fd)


def open_below(directory: int, parts: Sequence[str], flags: int) -> int:
    """Open what the names lead to from an open directory."""
    if not parts:
        return os.open(".", flags, dir_fd=directory)
    here = directory
    for number, part in enumerate(parts, start=1):
        try:
            inner = _step(here, part, flags if number == len(parts) else ENTERING)
        finally:
            if here != directory:
                os.close(here)
        here = inner
    return here


def read_below(directory: int, parts: Sequence[str], *, limit: int) -> bytes:
    """At most the first `limit` bytes of a regular file."""
    file = open_below(directory, parts, _READING)
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "is not a regular file")
        pieces: list[bytes] = []
        while limit > 0 and (piece := os.read(file, min(limit, _PIECE))):
            if len(piece) == found.st_size < min(limit, _PIECE) and not pieces:
                return piece  # it ends where the system said it does, as nearly every file: that need not be asked
            pieces.append(piece)
            limit -= len(piece)
    finally:
        os.close(file)
    return b"".join(pieces)


def mode_below(directory: int, parts: Sequence[str]) -> int:
    """What sort of thing the names lead to."""
    *above, name = parts
    here = open_below(directory, above, ENTERING)
    try:
        mode = os.stat(name, dir_fd=here, follow_symlinks=False).st_mode
    finally:
        os.close(here)
    if stat.S_ISLNK(mode):
        raise _link(name)
    return mode


def reason(error: OSError) -> str:
    """Why something could not be opened, as the end of a sentence."""
    if error.errno == errno.ELOOP:
        return "a link is on the way to it, and links are not followed"
    return (error.strerror or "it cannot be read").lower()


def _step(here: int, name: str, flags: int) -> int:
    try:
        return os.open(name, flags, dir_fd=here)
    except NotADirectoryError:
        if stat.S_ISLNK(os.stat(name, dir_fd=here, follow_symlinks=False).st_mode):
            raise _link(name) from None
        raise


def _link(name: str) -> OSError:
    return OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
