"""Skills in directories with a persistent index: only changed directories are read again.

A search without changes only stats the known paths and opens nothing. An index may be deleted at any time; if its
file is invalid, the directory is searched again.
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
from skills_runtime.skills.sources.filesystem import STAMP, FilesystemSource, Search, VisitedDirectory, stamp_at
from skills_runtime.skills.sources.source import Origin, Report
from skills_runtime.storage import open_directory, open_regular, write_atomic

FORMAT = 2
"""Increment whenever the format of the index or the parsing of skills changes."""
# Coarsest timestamp resolution of a file system: a second change within it may not change a stamp.
GRAIN_NS = 2_000_000_000
MAX_BYTES = 256 << 20
MAX_FILES = 256
"""Maximum number of index files; the least recently used are deleted."""

_MAGIC = b"skills-index\n"
_SUFFIX = ".index"
_HEAD = len(_MAGIC) + hashlib.sha256().digest_size


class Index(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """The reusable results of a search."""

    key: str
    """Identifies the searched directory, the options and the program version."""
    is_complete: bool
    """Whether the search was complete."""
    limits: tuple[str, ...] = ()
    visited: tuple[VisitedDirectory, ...] = ()


class IndexedSource:
    """A `FilesystemSource` with an index."""

    def __init__(
        self, files: FilesystemSource, directory: Path | None, *, now_ns: Callable[[], int] = time.time_ns
    ) -> None:
        self._files = files
        self._directory = directory
        self._now_ns = now_ns
        options = msgspec.json.encode(files.options).decode()
        self._key = f"{FORMAT}|{__version__}|{_reader()}|{os.geteuid()}|{options}|{files.root}"
        self._last: Index | None = None
        self._visited: list[VisitedDirectory] = []
        """All directories visited by the last search, reusable or not."""

    @property
    def origin(self) -> Origin:
        """The origin of its skills."""
        return self._files.origin

    @property
    def root(self) -> Path:
        """The searched directory."""
        return self._files.root

    def skills(self) -> Report:
        """Search the directory and read changed skills."""
        previous = self._last or (load_index(self._directory, self._key) if self._directory is not None else None)
        unchanged = list(self._filter_unchanged(previous.visited)) if previous is not None else []
        search, began_ns = Search(self._files.options), self._now_ns()
        if (
            previous is not None
            and previous.is_complete
            and len(unchanged) == len(previous.visited)
            and self._is_reachable()
        ):
            self._last, self._visited = previous, unchanged
            search.limits += previous.limits
            return self._files.report(unchanged, search)
        visited = self._files.visit(search, {directory.path: directory for directory in unchanged})
        reliable = tuple(directory for directory in visited if is_reliable(directory, began_ns))
        complete = bool(visited) and not search.refused and "max_entries_per_root" not in search.limits
        self._visited = visited
        self._last = Index(
            key=self._key,
            is_complete=complete and len(reliable) == len(visited),
            limits=tuple(search.limits),
            visited=reliable,
        )
        # Recently changed directories are read again next time anyway.
        if self._directory is not None and not set(map(id, reliable)) <= set(map(id, unchanged)):
            save_index(self._directory, self._last)
        return self._files.report(visited, search)

    def has_changed(self) -> bool:
        """Return whether a stamp differs from the last search, or the root was created since."""
        if self._last is None:
            return False
        if not self._visited:
            return self.root.is_dir()
        return len(list(self._filter_unchanged(self._last.visited))) != len(self._visited)

    def body(self, skill: Skill) -> str:
        """Read the Markdown body of a skill."""
        return self._files.body(skill)

    def directories(self) -> Iterator[Path]:
        """Yield the directories to watch for changes of the last result."""
        paths = {directory.path for directory in self._visited}
        for directory in self._visited:
            paths.update(os.path.dirname(os.path.join(directory.path, file)) for file in directory.files)  # noqa: PTH120
        for path in sorted(paths, key=os.fsencode):
            yield self.root / path

    def _is_reachable(self) -> bool:
        """Return whether the root can be opened without following links."""
        try:
            with open_directory(self.root):
                return True
        except OSError:
            return False

    def _filter_unchanged(self, visited: Iterable[VisitedDirectory]) -> Iterator[VisitedDirectory]:
        """Yield the directories whose stamps are unchanged."""
        root = str(self.root)
        for directory in visited:
            path = f"{root}/{directory.path}" if directory.path else root
            stamps = stamp_at(path)
            for file in directory.files:
                stamps += stamp_at(f"{path}/{file}")
            if stamps == directory.stamps:
                yield directory


def is_reliable(visited: VisitedDirectory, read_ns: int) -> bool:
    """Return whether any change after the read must have changed a stamp."""
    settled_ns = read_ns - GRAIN_NS
    settled = all(stamp[0] < settled_ns and stamp[1] < settled_ns for stamp in STAMP.iter_unpack(visited.stamps))
    # A file changed just before it was read may have changed again within the same clock tick.
    return settled and (visited.skill is None or visited.skill.is_complete)


@cache
def _reader() -> str:
    """Compute a digest of the code that parses skills, so that a new parser ignores old indexes."""
    digest = hashlib.sha256()
    package = Path(__file__).parent.parent
    for directory in (package, package / "standard", package / "sources"):
        with suppress(OSError), os.scandir(directory) as listing:
            for entry in sorted(listing, key=lambda item: item.name):
                if entry.name.endswith(".py"):
                    status = entry.stat()
                    digest.update(f"{entry.name} {status.st_mtime_ns} {status.st_ino} {status.st_size}\n".encode())
    return digest.hexdigest()[:16]


_DECODER = msgspec.msgpack.Decoder(Index)


def load_index(directory: Path, key: str) -> Index | None:
    """Load the index of a key; return None if it is missing or invalid."""
    try:
        with open(open_regular(_file(directory, key)), "rb", buffering=0) as file:
            status = os.fstat(file.fileno())
            if status.st_uid != os.geteuid() or status.st_size > MAX_BYTES:
                return None
            data = file.read()
        digest, payload = data[len(_MAGIC) : _HEAD], memoryview(data)[_HEAD:]
        if not data.startswith(_MAGIC) or hashlib.sha256(payload).digest() != digest:
            return None
        index = _DECODER.decode(payload)
    except (OSError, ValueError, RecursionError):  # msgspec's errors are values that are wrong
        return None
    sound = index.key == key and all(
        len(visited.stamps) == STAMP.size * (1 + len(visited.files)) for visited in index.visited
    )
    return index if sound else None


def save_index(directory: Path, index: Index) -> None:
    """Replace the stored index; ignore write errors, since the index is only a cache."""
    try:
        payload = msgspec.msgpack.encode(index)
    except (ValueError, TypeError, OverflowError, RecursionError):
        # Text that cannot be encoded, such as lone surrogates.
        return
    if len(payload) > MAX_BYTES - _HEAD:
        return
    with suppress(OSError):
        if not directory.is_dir():
            directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            directory.mkdir(mode=0o700, exist_ok=True)
        # Not durable: what a loss of power leaves of it does not have the digest it should have.
        data = _MAGIC + hashlib.sha256(payload).digest() + payload
        write_atomic(_file(directory, index.key), data, durable=False)
        _prune(directory)


def _file(directory: Path, key: str) -> Path:
    return directory / (hashlib.sha256(key.encode(errors="surrogateescape")).hexdigest()[:40] + _SUFFIX)


def _prune(directory: Path) -> None:
    """Delete the least recently used index files and abandoned temporary files."""
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
