"""Keeps the files that a skill declares to leave behind: regular files inside its directory, and nothing else.

Every name is opened below the one before without following links, and what is copied is what was looked at.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from skills_runtime.executions.places import sync_directory
from skills_runtime.executions.values import Artifact, ExecutionLimits, Refused
from skills_runtime.storage.nofollow import LISTING, error_reason, open_below, open_directory, relative_parts

RESERVED = frozenset({"execution.json", "input.json", "stdout.txt", "stderr.txt", "output.json"})
"""Names in the directory of an execution that are the runtime's own."""
MAX_DEPTH = 32
PIECE = 1 << 20
_READING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_MAKING = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def collect(
    work: Path, declared: Sequence[str], into: Path, limits: ExecutionLimits, *, durable: bool = False
) -> tuple[tuple[Artifact, ...], tuple[Refused, ...]]:
    """Copy what is declared and there; a declared directory means the files below it."""
    if not declared:
        return (), ()
    collection = _Collection(into, limits, durable=durable)
    try:
        with open_directory(work) as top:
            for path in dict.fromkeys(declared):
                collection.take(top, path, is_declared=True)
    except OSError as error:
        collection.refuse("", error_reason(error))
    collection.sync()
    return tuple(collection.kept), tuple(collection.refused)


class _Collection:
    """Artifacts being kept, within the limits of all together."""

    def __init__(self, into: Path, limits: ExecutionLimits, *, durable: bool) -> None:
        self._durable = durable
        self._into = into
        self._limits = limits
        self._bytes = 0
        self.kept: list[Artifact] = []
        self.refused: list[Refused] = []

    def refuse(self, path: str, why: str) -> None:
        """Say that something was not kept; more than there may be files need no saying."""
        if len(self.refused) < self._limits.artifact_files:
            self.refused.append(Refused(path=path, reason=why))

    def take(self, top: int, path: str, *, is_declared: bool = False) -> None:
        """Keep a file, or the files of a directory; what is declared and not there is told of."""
        parts = relative_parts(path)
        if parts is None or not _is_text(path) or len(parts) > MAX_DEPTH:
            self.refuse(path.encode(errors="replace").decode(), "it is not a path inside the skill's directory")
        elif parts[0] in RESERVED:
            self.refuse(path, "the name is the runtime's own")
        else:
            try:
                self._look(top, parts)
            except FileNotFoundError:
                if is_declared:
                    self.refuse(path, "it was not left behind")
            except OSError as error:
                self.refuse(path, error_reason(error))

    def sync(self) -> None:
        """Have the disk keep the names of what was kept, where that is wanted; those at the top are the caller's."""
        if self._durable:
            above = {parent for one in self.kept for parent in Path(one.path).parents[:-1]}
            for directory in sorted(above, key=lambda one: len(one.parts), reverse=True):
                sync_directory(self._into / directory)

    def _look(self, top: int, parts: tuple[str, ...]) -> None:
        *above, name = parts
        here = open_below(top, above, LISTING)
        try:
            mode = os.stat(name, dir_fd=here, follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode):
                names = _names(here, name, most=self._limits.artifact_files + 1)
            elif stat.S_ISREG(mode):
                self._keep(here, name, "/".join(parts))
                return
            else:
                self.refuse("/".join(parts), f"it is {_kind(mode)}, and only files are kept")
                return
        finally:
            os.close(here)
        for inner in names:
            if len(self.kept) >= self._limits.artifact_files:
                self.refuse("/".join(parts), f"more than {self._limits.artifact_files} files are not kept")
                return
            self.take(top, "/".join((*parts, inner)))

    def _keep(self, here: int, name: str, path: str) -> None:
        if any(one.path == path for one in self.kept):
            return
        if len(self.kept) >= self._limits.artifact_files:
            self.refuse(path, f"more than {self._limits.artifact_files} files are not kept")
            return
        source = os.open(name, _READING, dir_fd=here)
        try:
            about = os.fstat(source)
            if not stat.S_ISREG(about.st_mode):
                raise OSError(errno.EINVAL, "it is not a file any more")
            if self._bytes + about.st_size > self._limits.artifact_bytes:
                self.refuse(path, f"more than {self._limits.artifact_bytes} bytes are not kept")
                return
            self._copy(source, path, self._limits.artifact_bytes - self._bytes)
        finally:
            os.close(source)

    def _copy(self, source: int, path: str, room: int) -> None:
        digest, size = hashlib.sha256(), 0
        with _made(self._into, path) as target:
            while piece := os.read(source, min(PIECE, room - size + 1)):
                size += len(piece)
                if size > room:
                    raise OSError(errno.EFBIG, "it grew while it was kept")
                digest.update(piece)
                _write(target, piece)
            if self._durable:
                os.fsync(target)
        self._bytes += size
        self.kept.append(Artifact(path=path, size=size, sha256=digest.hexdigest()))


@contextmanager
def _made(into: Path, path: str) -> Generator[int]:
    """A new file; it is gone again when something goes wrong."""
    place = into / path
    _make_directories(into, place.parent)
    fd = os.open(place, _MAKING, 0o600)
    try:
        yield fd
    except BaseException:
        place.unlink()
        raise
    finally:
        os.close(fd)


def _make_directories(into: Path, inner: Path) -> None:
    """Each for its owner only, whatever the process has set for new ones."""
    for directory in reversed((inner, *inner.parents)):
        if directory.is_relative_to(into) and directory != into:
            directory.mkdir(mode=0o700, exist_ok=True)


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _names(here: int, name: str, *, most: int) -> list[str]:
    """The first names in a directory, in order."""
    inner = os.open(name, LISTING, dir_fd=here)
    try:
        with os.scandir(inner) as entries:
            return sorted(entry.name for entry, _ in zip(entries, range(most), strict=False))
    finally:
        os.close(inner)


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _kind(mode: int) -> str:
    kinds = ((stat.S_ISLNK, "a link"), (stat.S_ISFIFO, "a named pipe"), (stat.S_ISSOCK, "a socket"))
    return next((word for test, word in kinds if test(mode)), "a device")
