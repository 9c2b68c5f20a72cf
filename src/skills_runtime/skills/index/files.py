"""Index files: whole and ours, or not there at all.

An index may be deleted at any time. Whatever is wrong with a file of it, the answer is to search again.
"""

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from skills_runtime.skills.index.rows import Index

_MAGIC = b"skills-index\n"
_SUFFIX = ".index"
_DRAFT = ".draft"
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
    path = _file(directory, index.key)
    draft = directory / f"{path.stem}.{os.getpid()}.{os.urandom(4).hex()}{_DRAFT}"
    try:
        if not directory.is_dir():
            directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            directory.mkdir(mode=0o700, exist_ok=True)
        _write(draft, _MAGIC + hashlib.sha256(payload).digest() + payload)
        os.replace(draft, path)  # noqa: PTH105 - a name on the same disk
        _forget(directory)
    except OSError:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def _file(directory: Path, key: str) -> Path:
    return directory / (hashlib.sha256(key.encode(errors="surrogateescape")).hexdigest()[:40] + _SUFFIX)


def _read(path: Path) -> bytes:
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with open(file, "rb", buffering=0) as opened:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_size > MAX_BYTES:
            raise ValueError("not a file of ours")
        return opened.read()


def _write(path: Path, data: bytes) -> None:
    # Not synced: what a loss of power leaves of it does not have the digest it should have.
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(file, "wb", buffering=0) as opened:
        rest = memoryview(data)
        while rest:
            rest = rest[opened.write(rest) or 0 :]


def _forget(directory: Path) -> None:
    """Remove what was not used for long, and drafts that nobody finished."""
    with os.scandir(directory) as listing:
        files = [entry for entry in listing if entry.name.endswith((_SUFFIX, _DRAFT))]
    if len(files) <= MAX_FILES:
        return
    for path in sorted(_by_age(files))[: len(files) - MAX_FILES // 2]:
        with suppress(OSError):
            os.unlink(path[1])  # noqa: PTH108 - a path as the system gave it


def _by_age(files: list["os.DirEntry[str]"]) -> Iterator[tuple[int, str]]:
    for entry in files:
        with suppress(OSError):
            yield entry.stat(follow_symlinks=False).st_mtime_ns, entry.path
