"""The projects that the user trusts: a list of directories that only `skills trust` writes.

An unreadable list trusts nothing. A repository is trusted as a whole; a repository nested in it is not.
"""

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, cast

from skills_runtime.errors import NotFound, StorageFailed
from skills_runtime.skills.problems import Problem
from skills_runtime.storage import lock_file, open_regular, write_atomic

FILE = "trusted-folders.json"
LOCK = "trusted-folders.lock"
MAX_BYTES = 4 << 20
_VERSION = 1


class TrustStore:
    """The list of trusted directories in the user's state directory."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._path = state / FILE

    def folders(self) -> frozenset[str] | Problem:
        """Return the trusted directories, or the problem if the list cannot be read."""
        try:
            return frozenset(self._read())
        except FileNotFoundError:
            return frozenset()
        except (OSError, ValueError, RecursionError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            return Problem(
                code="SKILL_TRUST_UNREADABLE",
                message=f"no folder is trusted, because the list of them cannot be read: {reason.lower()}",
                hint=f"remove `{self._path}` and trust your folders again",
                locator=str(self._path),
            )

    def trust(self, directory: Path) -> bool:
        """Add a directory and return whether it is new."""
        real = os.path.realpath(directory)
        if not os.path.isdir(real):  # noqa: PTH112 - a path as the system gave it
            raise NotFound(f"`{directory}` is not a directory", hint="name the folder of a project")
        return self._change(lambda folders: folders | {real})

    def forget(self, directory: Path) -> bool:
        """Remove a directory and return whether it was listed."""
        real = os.path.realpath(directory)
        return self._change(lambda folders: folders - {real})

    def _change(self, change: Callable[[frozenset[str]], frozenset[str]]) -> bool:
        try:
            self._state.mkdir(mode=0o700, parents=True, exist_ok=True)
            with lock_file(self._state / LOCK):
                folders = self.folders()
                if isinstance(folders, Problem):
                    raise StorageFailed(folders.message, hint=folders.hint)
                updated = change(folders)
                if updated != folders:
                    text = json.dumps({"version": _VERSION, "folders": sorted(updated)}, indent=2) + "\n"
                    write_atomic(self._path, text.encode())
                return updated != folders
        except OSError as error:
            raise StorageFailed(f"`{self._path}` could not be written: {error.strerror}") from error

    def _read(self) -> Iterable[str]:
        with open(open_regular(self._path), "rb") as file:
            info = os.fstat(file.fileno())
            if info.st_size > MAX_BYTES:
                raise ValueError("it is too large")
            if info.st_uid != os.geteuid() or info.st_mode & 0o022:
                raise ValueError("other users can write to it")
            data: Any = json.loads(file.read())
        value = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
        folders = value.get("folders")
        if value.get("version") != _VERSION or not isinstance(folders, list):
            raise ValueError("it is not a list of folders")
        entries = cast("list[Any]", folders)
        if not all(isinstance(entry, str) and entry.startswith("/") for entry in entries):
            raise ValueError("a folder on it is not an absolute path")
        return cast("list[str]", entries)
