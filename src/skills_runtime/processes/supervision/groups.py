"""Control groups of one command: made before it starts, read and removed when nothing of it is left."""

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from .tree import look

PREFIX = "skills-runtime-"
ATTEMPTS = 200
PAUSE = 0.005
OPTIONAL = ("memory.swappiness", "memory.swap.max")
"""Settings that not every kernel has, and without which the others still hold."""


class Groups:
    """The groups that a request names; whoever starts the command goes in and out again."""

    def __init__(self, wanted: "Sequence[Mapping[str, Any]]") -> None:
        self._wanted = wanted
        self._made: list[tuple[str, Mapping[str, Any]]] = []

    def enter(self) -> None:
        """Make the groups, set their limits, and join them, so that the next process is born into them."""
        for group in self._wanted:
            _sweep(group["parent"])
            directory = f"{group['parent']}/{PREFIX}{os.getpid()}"
            os.mkdir(directory)  # noqa: PTH102 - nothing is imported here that is not needed
            self._made.append((directory, group))
            for name, value in group["settings"]:
                _set(f"{directory}/{name}", value, optional=name in OPTIONAL)
        for directory, _ in self._made:
            _write(f"{directory}/cgroup.procs", "0")

    def leave(self) -> None:
        """Go back, and leave what was started in them."""
        for _, group in self._made:
            _write(f"{group['home']}/cgroup.procs", "0")

    def close(self) -> "dict[str, str]":
        """Remove the groups, and say what they counted."""
        counted: dict[str, str] = {}
        for directory, group in self._made:
            for name in group["counters"]:
                counted[name] = _read(f"{directory}/{name}")
            _remove(directory)
        self._made = []
        return counted


def _set(path: str, value: str, *, optional: bool) -> None:
    try:
        _write(path, value)
    except OSError:
        if not optional:
            raise


def _write(path: str, value: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, value.encode())
    finally:
        os.close(descriptor)


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read()
    except OSError:
        return ""


def _remove(directory: str) -> None:
    """The kernel needs a moment after the last process; what it does not give up is left for the next sweep."""
    for _ in range(ATTEMPTS):
        try:
            os.rmdir(directory)  # noqa: PTH106 - nothing is imported here that is not needed
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(PAUSE)
        else:
            return


_swept: "set[str]" = set()


def _sweep(parent: str) -> None:
    """Remove what supervisors that were killed have left behind."""
    if parent in _swept:
        return
    _swept.add(parent)
    for entry in os.scandir(parent):
        if entry.name.startswith(PREFIX) and look(int(entry.name[len(PREFIX) :])) is None:
            try:
                os.rmdir(entry.path)  # noqa: PTH106 - nothing is imported here that is not needed
            except OSError:
                continue
