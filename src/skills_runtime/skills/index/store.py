"""What an index holds of one directory tree, the stamps that say whether it still holds, and the file it is kept in.

An index may be deleted at any time. Whatever is wrong with a file of it, the answer is to search again.
"""

import hashlib
import os
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime.skills.problems import Problem
from skills_runtime.skills.skill import RunDefinition
from skills_runtime.storage.files import open_regular, write_atomic

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


class DirectoryRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A directory without a skill; names are the bytes that the system has for them."""

    place: bytes
    directories: tuple[bytes, ...]
    links: tuple[bytes, ...]
    entries: int


class SkillRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A directory with a skill, usable or not."""

    place: bytes
    stamps: int
    """How many stamps it has: its own, and those of its files."""
    entries: int
    file: str | None
    name: str
    description: str
    locator: str
    """Its path fit to be printed, where that is not the path itself."""
    metadata: Mapping[str, Any]
    variables: tuple[str, ...]
    run: RunDefinition | None
    content_hash: str
    problems: tuple[Problem, ...]


class Index(msgspec.Struct, frozen=True, array_like=True, kw_only=True, gc=False):
    """Everything a search found."""

    key: str
    """What was searched, and by which version of this program."""
    is_complete: bool
    """Whether nothing was left out that may be there the next time."""
    limits: tuple[str, ...]
    directories: tuple[DirectoryRow, ...]
    skills: tuple[SkillRow, ...]
    watched: tuple[bytes, ...]
    """The paths that have stamps: one of each directory without a skill, then those of each skill."""
    stamps: bytes

    def is_sound(self) -> bool:
        """Whether its parts fit together."""
        count, stamps = len(self.watched), [row.stamps for row in self.skills]
        return (
            len(self.stamps) == count * STAMP_BYTES
            and min(stamps, default=1) > 0
            and count == len(self.directories) + sum(stamps)
        )


_MAGIC = b"skills-index\n"
_SUFFIX = ".index"
_HEAD = len(_MAGIC) + hashlib.sha256().digest_size
MAX_BYTES = 256 << 20
MAX_FILES = 256
"""How many trees are remembered; those that were not searched for the longest time are forgotten."""

_DECODER = msgspec.msgpack.Decoder(Index)


def load(directory: Path, key: str) -> Index | None:
    """The index under this key, or nothing where there is none that can be believed."""
    try:
        data = _read(_file(directory, key))
        digest, payload = data[len(_MAGIC) : _HEAD], memoryview(data)[_HEAD:]
        if not data.startswith(_MAGIC) or hashlib.sha256(payload).digest() != digest:
            return None
        index = _DECODER.decode(payload)
    except (OSError, ValueError, RecursionError):  # msgspec's errors are values that are wrong
        return None
    return index if index.key == key and index.is_sound() else None


def save(directory: Path, index: Index) -> None:
    """Put an index in the place of what is there; where that does not work, there is none the next time."""
    try:
        payload = msgspec.msgpack.encode(index)
    except (ValueError, TypeError, OverflowError, RecursionError):
        return  # a text that cannot be written, such as half a character
    if len(payload) > MAX_BYTES - _HEAD:
        return
    with suppress(OSError):
        if not directory.is_dir():
            directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            directory.mkdir(mode=0o700, exist_ok=True)
        # Not durable: what a loss of power leaves of it does not have the digest it should have.
        data = _MAGIC + hashlib.sha256(payload).digest() + payload
        write_atomic(_file(directory, index.key), data, durable=False)
        _forget(directory)


def _file(directory: Path, key: str) -> Path:
    return directory / (hashlib.sha256(key.encode(errors="surrogateescape")).hexdigest()[:40] + _SUFFIX)


def _read(path: Path) -> bytes:
    with open(open_regular(path), "rb", buffering=0) as opened:
        found = os.fstat(opened.fileno())
        if found.st_uid != os.geteuid() or found.st_size > MAX_BYTES:
            raise ValueError("not a file of ours")
        return opened.read()


def _forget(directory: Path) -> None:
    """Remove what was not used for long, and drafts that nobody finished."""
    with os.scandir(directory) as listing:
        files = [entry for entry in listing if _SUFFIX in entry.name]
    if len(files) <= MAX_FILES:
        return
    for path in sorted(_by_age(files))[: len(files) - MAX_FILES // 2]:
        with suppress(OSError):
            os.unlink(path[1])  # noqa: PTH108 - a path as the system gave it


def _by_age(files: list["os.DirEntry[str]"]) -> Iterator[tuple[int, str]]:
    for entry in files:
        with suppress(OSError):
            yield entry.stat(follow_symlinks=False).st_mtime_ns, entry.path
