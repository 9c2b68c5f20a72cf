"""Copy the files that a skill declares as artifacts into the directory of its execution.

Only regular files inside the skill's directory are copied. Each path component is opened below the previous one without
following links, so the file that was checked is the file that is copied.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from skills_runtime.executions.layout import INPUT, OUTPUT, RECORD, STDERR, STDOUT
from skills_runtime.executions.values import Artifact, ExecutionLimits, Refused
from skills_runtime.storage import (
    OPEN_TO_LIST,
    error_reason,
    list_names,
    open_below,
    open_directory,
    open_new,
    open_regular,
    relative_parts,
    sync_path,
    write_all,
)

RESERVED_NAMES = frozenset({RECORD, INPUT, STDOUT, STDERR, OUTPUT})
"""Names in the directory of an execution that the runtime uses itself."""
MAX_DEPTH = 32
PIECE = 1 << 20
_KINDS = ((stat.S_ISLNK, "a link"), (stat.S_ISFIFO, "a named pipe"), (stat.S_ISSOCK, "a socket"))


def collect_artifacts(
    work: Path, declared: Sequence[str], into: Path, limits: ExecutionLimits, *, durable: bool = False
) -> tuple[tuple[Artifact, ...], tuple[Refused, ...]]:
    """Copy the declared paths that exist; a declared directory stands for all files below it."""
    if not declared:
        return (), ()
    collection = _Collection(into, limits, durable=durable)
    try:
        with open_directory(work) as top:
            for path in dict.fromkeys(declared):
                collection.add(top, path, is_declared=True)
    except OSError as error:
        collection.refuse("", error_reason(error))
    collection.sync()
    return tuple(collection.artifacts), tuple(collection.refused)


class _Collection:
    """The artifacts of one execution, within the limits for all of them together."""

    def __init__(self, into: Path, limits: ExecutionLimits, *, durable: bool) -> None:
        self._durable = durable
        self._into = into
        self._limits = limits
        self._bytes = 0
        self.artifacts: list[Artifact] = []
        self.refused: list[Refused] = []

    def refuse(self, path: str, reason: str) -> None:
        """Record that a path was refused; entries beyond the file limit are dropped."""
        if len(self.refused) < self._limits.artifact_files:
            self.refused.append(Refused(path=path, reason=reason))

    def add(self, top: int, path: str, *, is_declared: bool = False) -> None:
        """Copy a file, or the files of a directory; refuse a declared path that does not exist."""
        parts = relative_parts(path)
        text = path.encode(errors="replace").decode()
        if parts is None or text != path or len(parts) > MAX_DEPTH:
            self.refuse(text, "it is not a path inside the skill's directory")
        elif parts[0] in RESERVED_NAMES:
            self.refuse(path, "the name is the runtime's own")
        else:
            try:
                self._collect(top, parts)
            except FileNotFoundError:
                if is_declared:
                    self.refuse(path, "it does not exist")
            except OSError as error:
                self.refuse(path, error_reason(error))

    def sync(self) -> None:
        """Sync the directories of the copies if the execution is durable; the caller syncs the top directory."""
        if self._durable:
            paths = {parent for artifact in self.artifacts for parent in Path(artifact.path).parents[:-1]}
            for directory in sorted(paths, key=lambda path: len(path.parts), reverse=True):
                sync_path(self._into / directory)

    def _collect(self, top: int, parts: tuple[str, ...]) -> None:
        *parents, name = parts
        directory = open_below(top, parents, OPEN_TO_LIST)
        try:
            mode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode):
                listing = os.open(name, OPEN_TO_LIST, dir_fd=directory)
                try:
                    names = list_names(listing, self._limits.artifact_files + 1)
                finally:
                    os.close(listing)
            elif stat.S_ISREG(mode):
                self._store(directory, name, "/".join(parts))
                return
            else:
                kind = next((label for test, label in _KINDS if test(mode)), "a device")
                self.refuse("/".join(parts), f"it is {kind}, and only files are kept")
                return
        finally:
            os.close(directory)
        for inner in names:
            if len(self.artifacts) >= self._limits.artifact_files:
                self.refuse("/".join(parts), f"more than {self._limits.artifact_files} files are not kept")
                return
            self.add(top, "/".join((*parts, inner)))

    def _store(self, directory: int, name: str, path: str) -> None:
        if any(artifact.path == path for artifact in self.artifacts):
            return
        if len(self.artifacts) >= self._limits.artifact_files:
            self.refuse(path, f"more than {self._limits.artifact_files} files are not kept")
            return
        source = open_regular(name, dir_fd=directory)
        try:
            if self._bytes + os.fstat(source).st_size > self._limits.artifact_bytes:
                self.refuse(path, f"more than {self._limits.artifact_bytes} bytes are not kept")
                return
            self._copy(source, path, self._limits.artifact_bytes - self._bytes)
        finally:
            os.close(source)

    def _copy(self, source: int, path: str, limit: int) -> None:
        digest, size = hashlib.sha256(), 0
        # Each directory is private to its owner, whatever the umask is.
        for directory in reversed(Path(path).parents[:-1]):
            (self._into / directory).mkdir(mode=0o700, exist_ok=True)
        with _new_file(self._into / path) as target:
            while piece := os.read(source, min(PIECE, limit - size + 1)):
                size += len(piece)
                if size > limit:
                    raise OSError(errno.EFBIG, "it grew while it was kept")
                digest.update(piece)
                write_all(target, piece)
            if self._durable:
                os.fsync(target)
        self._bytes += size
        self.artifacts.append(Artifact(path=path, size=size, sha256=digest.hexdigest()))


@contextmanager
def _new_file(path: Path) -> Generator[int]:
    """Open a new file and remove it if an error follows."""
    fd = open_new(path)
    try:
        yield fd
    except BaseException:
        path.unlink()
        raise
    finally:
        os.close(fd)
