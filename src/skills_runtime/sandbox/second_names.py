"""Finds the other names that secrets have in a workspace, for a file can have many and is hidden by each alone."""

import os
from collections.abc import Iterable
from pathlib import Path

Identity = tuple[int, int]
"""The device and the number of a file."""


def second_names(secrets: Iterable[Path], known: Iterable[Path], directories: Iterable[str]) -> set[Path]:
    """Names of these secrets besides those that are known, in these directories; most have none, which costs little."""
    names: dict[Identity, int] = {}
    for path in known:
        if (identity := _identity(str(path))) is not None:
            names[identity[0]] = names.get(identity[0], 0) + 1
    found = (_identity(str(path)) for path in secrets)
    wanted = {one[0] for one in found if one is not None and one[1] > names.get(one[0], 0)}
    return set(_named(wanted, directories)) if wanted else set()


def _named(wanted: set[Identity], directories: Iterable[str]) -> Iterable[Path]:
    numbers = {number for _, number in wanted}
    for directory in directories:
        try:
            with os.scandir(directory) as entries:
                alike = [entry.path for entry in entries if entry.inode() in numbers]
        except OSError:
            continue  # gone, or covered as a whole
        for path in alike:
            identity = _identity(path)
            if identity is not None and identity[0] in wanted:
                yield Path(path)


def _identity(path: str) -> tuple[Identity, int] | None:
    """What the file is, and how many names it has."""
    try:
        found = Path(path).lstat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino), found.st_nlink
