"""A bounded search for directories that hold a skill, never through a link."""

import os
import stat
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import msgspec

from skills_runtime.skills.files import LISTING, open_below, opened
from skills_runtime.skills.sources.source import ScanOptions
from skills_runtime.skills.standard.directories import skill_file_among
from skills_runtime.skills.standard.running import FILE_NAME as RUN_FILE

_NEVER_ENTERED = frozenset({".git", "node_modules", "__pycache__"})

Parts = tuple[str, ...]


class Found(msgspec.Struct, frozen=True):
    """A directory with a skill; its descriptor is open until the search goes on."""

    parts: Parts
    descriptor: int
    names: frozenset[str]
    """Everything in it."""
    file: str | None
    """The name of its `SKILL.md`, however that is spelled."""


class _Inside(msgspec.Struct, frozen=True):
    """What a directory without a skill has in it, as far as the search cares."""

    directories: list[str]
    links: list[str]


class Search:
    """A search and what it left out; the lists are whole once it has ended."""

    def __init__(self, options: ScanOptions) -> None:
        self.refused: list[tuple[Parts, OSError]] = []
        """Directories that could not be looked into."""
        self.links: list[Parts] = []
        """Links to directories, which were not followed."""
        self.limits: list[str] = []
        """The settings whose limits ended the search early."""
        self._options = options

    def skills(self, root: int) -> Iterator[Found]:
        """Each directory with a skill, nearest first and by name.

        What is below such a directory belongs to the skill and is not searched.
        """
        waiting: deque[Parts] = deque([()])
        room = self._options.max_dirs_per_root - 1
        while waiting:
            parts = waiting.popleft()
            try:
                descriptor = open_below(root, parts, LISTING)
            except OSError as error:
                self.refused.append((parts, error))
                continue
            try:
                inside = self._look(descriptor, parts)
                if isinstance(inside, Found):
                    yield inside
                    continue
            except OSError as error:
                self.refused.append((parts, error))
                continue
            finally:
                os.close(descriptor)
            self.links += [(*parts, name) for name in inside.links]
            found = inside.directories
            if found and len(parts) >= self._options.max_depth:
                self._stopped_by("max_depth")
                continue
            if len(found) > room:
                self._stopped_by("max_dirs_per_root")
            waiting.extend((*parts, name) for name in found[:room])
            room = max(room - len(found), 0)

    def _look(self, descriptor: int, parts: Parts) -> Found | _Inside:
        with os.scandir(descriptor) as listing:
            entries = list(listing)
        names = frozenset([each.name for each in entries])
        file = skill_file_among(names)
        if file is not None or RUN_FILE in names:
            return Found(parts, descriptor, names, file)
        links = [each.name for each in entries if each.is_symlink() and self._may_enter(each.name)]
        return _Inside(
            directories=sorted(
                each.name for each in entries if self._may_enter(each.name) and each.is_dir(follow_symlinks=False)
            ),
            links=sorted(name for name in links if _leads_to_directory(descriptor, name)),
        )

    def _may_enter(self, name: str) -> bool:
        hidden = self._options.ignore_dot_entries and name.startswith(".")
        return not hidden and name not in _NEVER_ENTERED

    def _stopped_by(self, limit: str) -> None:
        if limit not in self.limits:
            self.limits.append(limit)


def _leads_to_directory(directory: int, name: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=directory).st_mode)
    except OSError:
        return False


def skill_directories(path: Path) -> list[Path]:
    """The skills that a path stands for: the one whose file or directory it is, or all below it, or itself."""
    if path.name.lower() == "skill.md" and path.is_file():
        return [path.parent]
    if not path.is_dir():
        return [path]
    root = Path(os.path.realpath(path))
    with opened(root) as top:
        return [path.joinpath(*found.parts) for found in Search(ScanOptions()).skills(top)] or [path]
