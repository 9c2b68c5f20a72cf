"""Hash skills: the hash of the public lock file format, and an unambiguous digest of our own.

The public hash concatenates paths and contents without separators, so two different skills can be made to share it.
Consents therefore refer to the digest; the hash alone counts only if a lock file has no digest.
"""

import hashlib
import os
import stat
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec

from skills_runtime.errors import ValidationFailed
from skills_runtime.storage import open_directory, read_below, walk

_SIGNS = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"
"""ASCII punctuation and symbols in collation order: all before digits and letters."""
_AFTER_SIGNS = 1 << 10
_ACCENTS = "\u0301\u0300\u0306\u0302\u030c\u030a\u0308\u030b\u0303\u0307\u0338\u0327\u0328\u0304"
"""Accents in collation order: acute, grave, breve, circumflex, caron, ring, diaeresis and so on."""
_DECOMPOSED_LETTERS = str.maketrans(
    {
        "ø": "o\u0338", "Ø": "O\u0338", "ł": "l\u0338", "Ł": "L\u0338", "đ": "d\u0338", "Đ": "D\u0338",
        "æ": "a\u035fe", "Æ": "A\u035fE",
    }
)  # fmt: skip
"""Letters that sort as an accented base letter although Unicode does not decompose them."""
_SEPARATE_LETTERS = frozenset("йЙ")

Key = tuple[tuple[tuple[int, int], ...], tuple[int, ...], tuple[int, ...], str]


@lru_cache(maxsize=4096)
def collation_key(text: str) -> Key:
    """Return the collation key of a path: letters, then accents, then case, then the text itself."""
    letters: list[tuple[int, int]] = []
    accents: list[int] = []
    capitals: list[int] = []
    for character in _split_accents(text):
        kind = unicodedata.category(character)
        if kind == "Cc" and character not in "\t\n\v\f\r":
            continue
        if kind in ("Mn", "Me"):
            index = _ACCENTS.find(character)
            accents.append(1 + (index if index >= 0 else ord(character)))
            capitals.append(0)
            continue
        for folded in character.casefold():
            letters.append(_letter_weight(folded))
            accents.append(0)
            capitals.append(int(character != folded))
    return tuple(letters), tuple(accents), tuple(capitals), text


def _split_accents(text: str) -> Iterator[str]:
    """Yield letters and their accents one by one."""
    for character in unicodedata.normalize("NFC", text).translate(_DECOMPOSED_LETTERS):
        if character in _SEPARATE_LETTERS:
            yield character
        else:
            yield from unicodedata.normalize("NFD", character)


def _letter_weight(character: str) -> tuple[int, int]:
    index = _SIGNS.find(character)
    if index >= 0:
        return 1, index
    if character.isspace():
        return 0, ord(character)
    if character.isdecimal():
        return 2, int(character)
    return (3, ord(character)) if character.isalpha() else (1, _AFTER_SIGNS + ord(character))


EntryKind = Literal["file", "link", "other"]

MAX_HASHED_FILES = 10_000
MAX_HASHED_BYTES = 256 << 20
_NOT_HASHED = frozenset({".git", "node_modules"})
"""Directories excluded from the public hash."""


class HashedEntry(msgspec.Struct, frozen=True):
    """A file, link or other non-directory below a skill's directory."""

    path: str
    """Relative, with slashes."""
    kind: EntryKind
    size: int
    executable: bool
    content: str
    """SHA-256 of the content, or of the target of a link."""


class Hashed(msgspec.Struct, frozen=True):
    """Hashes and entries of a skill's directory."""

    computed_hash: str
    """The hash of the public lock file format."""
    digest: str
    """Our own unambiguous digest of every path, kind and content."""
    entries: tuple[HashedEntry, ...]

    @property
    def size(self) -> int:
        """Total size of all files in bytes."""
        return sum(entry.size for entry in self.entries)


def hash_directory(directory: Path) -> Hashed:
    """Compute both hashes of the skill in a directory, and list what is in it."""
    real = Path(os.path.realpath(directory))
    with open_directory(real) as top:
        entries = tuple(_read_entries(top, directory))
        public = hash_files(
            (entry.path, read_below(top, entry.path.split("/"), limit=MAX_HASHED_BYTES))
            for entry in entries
            if entry.kind == "file" and not _NOT_HASHED.intersection(entry.path.split("/")[:-1])
        )
    return Hashed(public, content_digest(entries), entries)


def hash_files(files: Iterable[tuple[str, bytes]]) -> str:
    """Compute the public hash: SHA-256 over each path and its content.

    The order of `collation_key` is part of the hash: other installers sort paths as dictionaries do.
    """
    digest = hashlib.sha256()
    for path, content in sorted(files, key=lambda file: collation_key(file[0])):
        digest.update(path.encode(errors="surrogateescape"))
        digest.update(content)
    return digest.hexdigest()


def content_digest(entries: Iterable[HashedEntry]) -> str:
    """Compute our digest: each path with its length, so that none runs into what follows it.

    The order of the bytes of paths is part of the digest.
    """
    digest = hashlib.sha256(b"skill-content-1\n")
    for entry in sorted(entries, key=lambda item: item.path.encode(errors="surrogateescape")):
        path = entry.path.encode(errors="surrogateescape")
        digest.update(b"%s %d %s %s\n" % (entry.kind.encode(), len(path), path, entry.content.encode()))
    return digest.hexdigest()


def _read_entries(top: int, directory: Path) -> Iterator[HashedEntry]:
    files = size = 0
    for item in walk(top):
        if item.is_directory:
            continue
        files += 1
        if item.is_file:
            data = item.read(MAX_HASHED_BYTES + 1)
            executable = bool(item.status.st_mode & stat.S_IXUSR)
            entry = HashedEntry(item.path, "file", len(data), executable, hashlib.sha256(data).hexdigest())
        else:
            target = os.fsencode(item.target()) if item.is_link else b""
            content = hashlib.sha256(target).hexdigest()
            entry = HashedEntry(item.path, "link" if item.is_link else "other", 0, executable=False, content=content)
        size += entry.size
        if files > MAX_HASHED_FILES or size > MAX_HASHED_BYTES:
            raise ValidationFailed(
                f"the skill in `{directory}` has more than {MAX_HASHED_FILES} files or {MAX_HASHED_BYTES >> 20} MiB",
                hint="keep a skill small, and its data elsewhere",
            )
        yield entry
