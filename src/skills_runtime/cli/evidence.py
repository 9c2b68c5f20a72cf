"""Writes what a sandbox promised to a file, past everything that the command could have put in its way.

The directory is opened before the command begins. What the command has put under the name meanwhile is not opened at
all: a new file takes its place by one rename.
"""

import os
import secrets
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from skills_runtime.errors import AccessRefused, ValidationFailed

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class EvidenceFile:
    """Where evidence goes: a name in a directory that is held open."""

    def __init__(self, path: Path, directory: int) -> None:
        self._path = path
        self._directory = directory

    def write(self, data: bytes) -> None:
        """Put a file with this content under the name; raises when the directory is no longer where it was."""
        name, passing = self._path.name, f".{secrets.token_hex(8)}.evidence"
        descriptor = os.open(passing, _NEW, 0o666, dir_fd=self._directory)
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
            os.rename(passing, name, src_dir_fd=self._directory, dst_dir_fd=self._directory)
        except BaseException:
            with suppress(OSError):
                os.unlink(passing, dir_fd=self._directory)
            raise
        if not _is_at(self._path.parent, self._directory):
            raise AccessRefused(
                f"the command has moved the directory of `{self._path}`, so what is there now is not the evidence",
                hint="name a file outside the workspace",
            )


@contextmanager
def evidence_file(path: str | None) -> Generator[EvidenceFile | None]:
    """The file for evidence, refused before anything is started if it cannot be written; nothing without a path."""
    if path is None:
        yield None
        return
    if not path.strip() or path.endswith("/") or "\0" in path:
        raise ValidationFailed("`--evidence` does not name a file", hint="give the path of a file")
    place = Path(os.path.abspath(path))
    directory = os.open(place.parent, _DIRECTORY)
    try:
        _refuse_unwritable(place, directory)
        yield EvidenceFile(place, directory)
    finally:
        os.close(directory)


def _refuse_unwritable(path: Path, directory: int) -> None:
    try:
        found = os.stat(path.name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        found = None
    if found is not None and not stat.S_ISREG(found.st_mode):
        raise ValidationFailed(f"`{path}` is no ordinary file, so evidence is not written to it", hint="name another")
    if not os.access(path.parent, os.W_OK):
        raise AccessRefused(f"no file can be made beside `{path}`", hint="check who may write there")


def _is_at(path: Path, directory: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(directory))
    except OSError:
        return False
