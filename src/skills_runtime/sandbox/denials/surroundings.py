"""Looks at the machine around the fence: the only part of this package that does."""

import os
from collections.abc import Mapping
from pathlib import Path


class ThisMachine:
    """Answers from the file system, and from the `PATH` of the user."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._path = variables.get("PATH", os.defpath)

    def exists(self, path: Path) -> bool:
        """Whether something has this name; what this user may not look at does not count."""
        return os.path.lexists(path)

    def program(self, name: str) -> Path | None:
        """The first program of this name on the user's path."""
        if "/" in name:
            return None
        for directory in self._path.split(os.pathsep):
            place = Path(directory, name)
            if directory.startswith("/") and place.is_file() and os.access(place, os.X_OK):
                return place
        return None


class NoSurroundings:
    """Knows of nothing outside, so that only what needs no looking is found."""

    def exists(self, path: Path) -> bool:
        """Never."""
        del path
        return False

    def program(self, name: str) -> Path | None:
        """Never."""
        del name
        return None
