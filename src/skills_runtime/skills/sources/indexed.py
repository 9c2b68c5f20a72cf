"""Skills in directories, with an index of what was found before: only what has changed is read again.

A search that finds everything as it was asks the system for the stamps of what it knows, and opens nothing. An index
may be deleted at any time; whatever is wrong with its file, the answer is to search again.
"""

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import msgspec

from skills_runtime import __version__
from skills_runtime.skills.skill import Skill
from skills_runtime.skills.sources.filesystem import STAMP, FilesystemSource, Search, Visited, stamp_at
from skills_runtime.skills.sources.source import Origin, Report
from skills_runtime.storage import open_directory, open_regular, write_atomic

FORMAT = 2
"""Raised whenever an index would be read in another way, or a skill understood in another way."""
GRAIN_NS = 2_000_000_000
"""The coarsest clock of a file system: of two changes within it, the second may leave no trace."""
MAX_BYTES = 256 << 20
MAX_FILES = 256
"""How many trees are remembered; those that were not searched for the longest time are forgotten."""

_MAGIC = b"skills-index\n"
_SUFFIX = ".index"
_HEAD = len(_MAGIC) + hashlib.sha256().digest_size


class Index(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """What a search found, as far as it can be believed the next time."""

    key: str
    """What was searched, and by which version of this program."""
    is_complete: bool
    """Whether nothing was left out that may be there the next time."""
    limits: tuple[str, ...] = ()
    visited: tuple[Visited, ...] = ()


class IndexedSource:
    """The skills below one directory, as a `FilesystemSource` finds them."""

    def __init__(
        self, files: FilesystemSource, directory: Path | None, *, now_ns: Callable[[], int] = time.time_ns
    ) -> None:
        self._files = files
        self._directory = directory
        self._now_ns = now_ns
        options = msgspec.json.encode(files.options).decode()
        self._key = f"{FORMAT}|{__version__}|{_reader()}|{os.geteuid()}|{options}|{files.root}"
        self._last: Index | None = None
        self._visited: list[Visited] = []
        """Everything the last search looked into, whether it can be believed or not."""

    @property
    def origin(self) -> Origin:
        """The space it fills."""
        return self._files.origin

    @property
    def root(self) -> Path:
        """The directory it searches."""
        return self._files.root

    def skills(self) -> Report:
        """Search the directory, and read what has changed."""
        before = self._last or (load(self._directory, self._key) if self._directory is not None else None)
        known = list(self._unchanged(before.visited)) if before is not None else []
        search, began_ns = Search(self._files.options), self._now_ns()
        if before is not None and before.is_complete and len(known) == len(before.visited) and self._is_reachable():
            self._last, self._visited = before, known
            search.limits += before.limits
            return self._files.report(known, search)
        visited = self._files.visit(search, {one.path: one for one in known})
        believed = tuple(one for one in visited if is_believed(one, began_ns))
        complete = bool(visited) and not search.refused and "max_entries_per_root" not in search.limits
        self._visited = visited
        self._last = Index(
            key=self._key,
            is_complete=complete and len(believed) == len(visited),
            limits=tuple(search.limits),
            visited=believed,
        )
        # Where nothing new is believed, what changed a moment ago is read again the next time anyway.
        if self._directory is not None and not set(map(id, believed)) <= set(map(id, known)):
            save(self._directory, self._last)
        return self._files.report(visited, search)

    def has_changed(self) -> bool:
        """Whether a stamp is not what it was at the last search, or a directory came where none was."""
        if self._last is None:
            return False
        if not self._visited:
            return self.root.is_dir()
        return len(list(self._unchanged(self._last.visited))) != len(self._visited)

    def body(self, skill: Skill) -> str:
        """The Markdown of a skill, read now."""
        return self._files.body(skill)

    def directories(self) -> Iterator[Path]:
        """The directories whose changes can change what was found last, for whoever wants to watch them."""
        paths = {one.path for one in self._visited}
        for one in self._visited:
            paths.update(os.path.dirname(os.path.join(one.path, file)) for file in one.files)  # noqa: PTH120
        for path in sorted(paths, key=os.fsencode):
            yield self.root / path

    def _is_reachable(self) -> bool:
        """Whether no link has come on the way to the root."""
        try:
            with open_directory(self.root):
                return True
        except OSError:
            return False

    def _unchanged(self, visited: Iterable[Visited]) -> Iterator[Visited]:
        """Those whose stamps are all what they were."""
        root = str(self.root)
        for one in visited:
            here = f"{root}/{one.path}" if one.path else root
            stamps = stamp_at(here)
            for file in one.files:
                stamps += stamp_at(f"{here}/{file}")
            if stamps == one.stamps:
                yield one


def is_believed(visited: Visited, read_ns: int) -> bool:
    """Whether a change after it was read must have changed a stamp.

    What changed just before it was read may have changed once more in the same tick of the clock.
    """
    settled_ns = read_ns - GRAIN_NS
    settled = all(one[0] < settled_ns and one[1] < settled_ns for one in STAMP.iter_unpack(visited.stamps))
    return settled and (visited.skill is None or visited.skill.is_whole)


@cache
def _reader() -> str:
    """A digest that changes with the code that reads skills: another reader may read them otherwise."""
    whole = hashlib.sha256()
    package = Path(__file__).parent.parent
    for directory in (package, package / "standard", package / "sources"):
        with suppress(OSError), os.scandir(directory) as listing:
            for entry in sorted(listing, key=lambda one: one.name):
                if entry.name.endswith(".py"):
                    status = entry.stat()
                    whole.update(f"{entry.name} {status.st_mtime_ns} {status.st_ino} {status.st_size}\n".encode())
    return whole.hexdigest()[:16]


_DECODER = msgspec.msgpack.Decoder(Index)


def load(directory: Path, key: str) -> Index | None:
    """The index under this key, or nothing where there is none that can be believed."""
    try:
        with open(open_regular(_file(directory, key)), "rb", buffering=0) as file_io:
            status = os.fstat(file_io.fileno())
            if status.st_uid != os.geteuid() or status.st_size > MAX_BYTES:
                return None
            data = file_io.read()
        digest, payload = data[len(_MAGIC) : _HEAD], memoryview(data)[_HEAD:]
        if not data.startswith(_MAGIC) or hashlib.sha256(payload).digest() != digest:
            return None
        index = _DECODER.decode(payload)
    except (OSError, ValueError, RecursionError):  # msgspec's errors are values that are wrong
        return None
    sound = index.key == key and all(len(one.stamps) == STAMP.size * (1 + len(one.files)) for one in index.visited)
    return index if sound else None


def save(directory: Path, index: Index) -> None:
    """Put an index in the place of what is there; where that does not work, there is none the next time."""
    try:
        payload = msgspec.msgpack.encode(index)
    except (ValueError, TypeError, OverflowError, RecursionError):
        return  # a text that cannot be written, such as half a character or a name that is no text
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


def _forget(directory: Path) -> None:
    """Remove what was not used for long, and drafts that nobody finished."""
    with os.scandir(directory) as listing:
        files = [entry for entry in listing if _SUFFIX in entry.name]
    if len(files) <= MAX_FILES:
        return
    ages: list[tuple[int, str]] = []
    for entry in files:
        with suppress(OSError):
            ages.append((entry.stat(follow_symlinks=False).st_mtime_ns, entry.path))
    for _, path in sorted(ages)[: len(files) - MAX_FILES // 2]:
        with suppress(OSError):
            os.unlink(path)  # noqa: PTH108 - a path as the system gave it
