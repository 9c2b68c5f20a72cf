"""Which projects the user trusts: a list of directories that only `skills trust` writes.

What cannot be read trusts nothing. A repository is trusted as a whole, and one inside of it is not.
"""

import fcntl
import json
import os
import stat
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from skills_runtime.errors import NotFound, StorageFailed
from skills_runtime.skills.problems import Problem

FILE = "trusted-folders.json"
LOCK = "trusted-folders.lock"
MAX_BYTES = 4 << 20
_VERSION = 1
_READING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class TrustStore:
    """The list of trusted directories in the user's state directory."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._path = state / FILE

    def folders(self) -> frozenset[str] | Problem:
        """The directories that are trusted, or why none is."""
        try:
            return frozenset(self._read())
        except FileNotFoundError:
            return frozenset()
        except (OSError, ValueError, RecursionError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            return Problem(
                code="SKILL_TRUST_UNREADABLE",
                message=f"no folder is trusted, because the list of them cannot be read: {why.lower()}",
                hint=f"remove `{self._path}` and trust your folders again",
                locator=str(self._path),
            )

    def trust(self, directory: Path) -> bool:
        """Add a directory; says whether it was not on the list before."""
        real = os.path.realpath(directory)
        if not os.path.isdir(real):  # noqa: PTH112 - a path as the system gave it
            raise NotFound(f"`{directory}` is not a directory", hint="name the folder of a project")
        return self._change(lambda folders: folders | {real})

    def forget(self, directory: Path) -> bool:
        """Take a directory off the list; says whether it was on it."""
        real = os.path.realpath(directory)
        return self._change(lambda folders: folders - {real})

    def _change(self, change: Callable[[frozenset[str]], frozenset[str]]) -> bool:
        try:
            with self._locked():
                before = self.folders()
                if isinstance(before, Problem):
                    raise StorageFailed(before.message, hint=before.hint)
                after = change(before)
                if after != before:
                    self._write(sorted(after))
                return after != before
        except OSError as error:
            raise StorageFailed(f"`{self._path}` could not be written: {error.strerror}") from error

    @contextmanager
    def _locked(self) -> Generator[None]:
        self._state.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(self._state / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _read(self) -> Iterable[str]:
        with open(os.open(self._path, _READING), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_BYTES:
                raise ValueError("it is not a file of ours")
            if found.st_uid != os.geteuid() or found.st_mode & 0o022:
                raise ValueError("others may write to it")
            data: Any = json.loads(file.read())
        value = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
        folders = value.get("folders")
        if value.get("version") != _VERSION or not isinstance(folders, list):
            raise ValueError("it is not a list of folders")
        listed = cast("list[Any]", folders)
        if not all(isinstance(one, str) and one.startswith("/") for one in listed):
            raise ValueError("a folder on it is not an absolute path")
        return cast("list[str]", listed)

    def _write(self, folders: list[str]) -> None:
        draft = self._state / f".{FILE}.{os.getpid()}.{os.urandom(4).hex()}"
        text = json.dumps({"version": _VERSION, "folders": folders}, indent=2) + "\n"
        try:
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self._path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
