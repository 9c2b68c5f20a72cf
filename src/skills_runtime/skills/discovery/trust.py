"""The projects and single skills that the user trusts: two lists of directories.

An unreadable file trusts nothing. A repository is trusted as a whole; a repository nested in it is not. A single skill
is trusted by its directory: who creates one here trusts it, and nothing else in the project.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgspec

from skills_runtime.errors import NotFound, StorageFailed
from skills_runtime.skills.problems import Problem
from skills_runtime.storage import lock_file, open_regular, write_atomic

FILE = "trusted-folders.json"
LOCK = "trusted-folders.lock"
MAX_BYTES = 4 << 20
_VERSION = 1


class TrustedPaths(msgspec.Struct, frozen=True):
    """Directories that the user trusts, without links in their paths."""

    folders: frozenset[str] = frozenset()
    """Projects, with all their skills."""
    skills: frozenset[str] = frozenset()
    """Single skills."""


class TrustStore:
    """The trusted directories, in the user's state directory."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._path = state / FILE

    def read(self) -> TrustedPaths | Problem:
        """Return what is trusted, or the problem if the file cannot be read."""
        try:
            return self._read()
        except FileNotFoundError:
            return TrustedPaths()
        except (OSError, ValueError, RecursionError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            return Problem(
                code="SKILL_TRUST_UNREADABLE",
                message=f"no folder is trusted, because the list of them cannot be read: {reason.lower()}",
                hint=f"remove `{self._path}` and trust your folders again",
                locator=str(self._path),
            )

    def trust(self, directory: Path) -> bool:
        """Trust a project and return whether it is new."""
        real = _resolve_directory(directory, hint="name the folder of a project")
        return self._change(lambda paths: msgspec.structs.replace(paths, folders=paths.folders | {real}))

    def forget(self, directory: Path) -> bool:
        """Revoke the trust in a project and in each of its skills, and return whether there was any."""
        real = os.path.realpath(directory)

        def forget(paths: TrustedPaths) -> TrustedPaths:
            skills = frozenset(path for path in paths.skills if not path.startswith(f"{real}/"))
            return TrustedPaths(paths.folders - {real}, skills)

        return self._change(forget)

    def trust_skill(self, directory: Path) -> bool:
        """Trust the skill in a directory and return whether it is new."""
        real = _resolve_directory(directory, hint="name the directory of a skill")
        return self._change(lambda paths: msgspec.structs.replace(paths, skills=paths.skills | {real}))

    def forget_skill(self, directory: Path) -> bool:
        """Revoke the trust in a single skill and return whether it was trusted by itself."""
        real = os.path.realpath(directory)
        return self._change(lambda paths: msgspec.structs.replace(paths, skills=paths.skills - {real}))

    def _change(self, change: Callable[[TrustedPaths], TrustedPaths]) -> bool:
        try:
            self._state.mkdir(mode=0o700, parents=True, exist_ok=True)
            with lock_file(self._state / LOCK):
                current = self.read()
                if isinstance(current, Problem):
                    raise StorageFailed(current.message, hint=current.hint)
                updated = change(current)
                if updated != current:
                    document = {"version": _VERSION, "folders": sorted(updated.folders)}
                    skills = {"skills": sorted(updated.skills)} if updated.skills else {}
                    text = json.dumps({**document, **skills}, indent=2) + "\n"
                    write_atomic(self._path, text.encode())
                return updated != current
        except OSError as error:
            raise StorageFailed(f"`{self._path}` could not be written: {error.strerror}") from error

    def _read(self) -> TrustedPaths:
        with open(open_regular(self._path), "rb") as file:
            info = os.fstat(file.fileno())
            if info.st_size > MAX_BYTES:
                raise ValueError("it is too large")
            if info.st_uid != os.geteuid() or info.st_mode & 0o022:
                raise ValueError("other users can write to it")
            data: Any = json.loads(file.read())
        value = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
        if value.get("version") != _VERSION:
            raise ValueError("it is not a list of folders")
        return TrustedPaths(_parse_paths(value.get("folders")), _parse_paths(value.get("skills", [])))


def _resolve_directory(directory: Path, *, hint: str) -> str:
    real = os.path.realpath(directory)
    if not os.path.isdir(real):  # noqa: PTH112 - a path as the system gave it
        raise NotFound(f"`{directory}` is not a directory", hint=hint)
    return real


def _parse_paths(value: Any) -> frozenset[str]:
    if not isinstance(value, list):
        raise ValueError("it is not a list of folders")  # noqa: TRY004 - the file is wrong, not our code
    entries = cast("list[Any]", value)
    if not all(isinstance(entry, str) and entry.startswith("/") for entry in entries):
        raise ValueError("a folder on it is not an absolute path")
    return frozenset(cast("list[str]", entries))
