"""What the system says of a file or directory, as far as it tells whether anything changed."""

import os
from array import array
from collections.abc import Sequence

Stamp = tuple[int, int, int, int]
"""When its entry changed, when its content changed, its number and its size; an error is its number below zero."""

WORDS = 4
STAMP_BYTES = 8 * WORDS
GRAIN_NS = 2_000_000_000
"""The coarsest clock of a file system: of two changes within it, the second may leave no trace."""
NEVER: Stamp = (-1 << 32, 0, 0, 0)
"""No file ever has this one, so whatever has it is looked at again."""


def stamp_of(found: os.stat_result) -> Stamp:
    """The stamp of what was looked at."""
    return found.st_ctime_ns, found.st_mtime_ns, found.st_ino, found.st_size


def stamp_at(path: str | bytes, *, directory: int | None = None) -> Stamp:
    """The stamp of what is at a path, links not followed, or of why nothing is."""
    try:
        return stamp_of(os.stat(path, dir_fd=directory, follow_symlinks=False))
    except OSError as error:
        return failed(error)


def failed(error: OSError) -> Stamp:
    """The stamp of what cannot be looked at."""
    return -(error.errno or 0), 0, 0, 0


def changed(root: bytes, paths: Sequence[bytes], stamps: bytes) -> frozenset[int]:
    """The numbers of the paths below a directory whose stamps are not what they were.

    There may be many thousands, and nothing here should cost more than asking the system.
    """
    values = array("q")
    values.frombytes(stamps)
    columns = (values[word::WORDS].tolist() for word in range(WORDS))
    base, look = root.rstrip(b"/") + b"/", os.lstat
    numbers: list[int] = []
    for number, (path, entry, content, inode, size) in enumerate(zip(paths, *columns, strict=True)):
        try:
            found = look(base + path if path else root)
        except OSError as error:
            if entry != failed(error)[0]:
                numbers.append(number)
            continue
        if found.st_ctime_ns != entry or found.st_mtime_ns != content or found.st_ino != inode or found.st_size != size:
            numbers.append(number)
    return frozenset(numbers)


def is_settled(stamp: Stamp, read_ns: int) -> bool:
    """Whether a change after it was read must have changed the stamp.

    What changed just before it was read may have changed once more in the same tick of the clock.
    """
    return stamp[0] < read_ns - GRAIN_NS and stamp[1] < read_ns - GRAIN_NS
