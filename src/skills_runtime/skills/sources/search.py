"""A bounded search for directories that hold a skill, never through a link."""

import errno
import os
import stat
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

import msgspec

from skills_runtime.skills.sources.source import ScanOptions
from skills_runtime.skills.standard.directories import skill_file_among
from skills_runtime.skills.standard.skill_yaml import FILE_NAME as RUN_FILE
from skills_runtime.storage.nofollow import ENTERING, LISTING, open_below, open_directory

if TYPE_CHECKING:
    from skills_runtime.skills.sources.filesystem import Read

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


class Inside(msgspec.Struct, frozen=True):
    """What a directory without a skill has in it, as far as the search cares."""

    directories: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    """Links that would be entered if they were directories."""
    entries: int = 0
    """How much there is in it altogether."""


class Known(msgspec.Struct, frozen=True):
    """A directory with a skill that was read before and has not changed since."""

    parts: Parts
    file: str | None
    read: "Read"
    entries: int
    locator: str = ""
    """Its path fit to be printed, where that is not the path itself."""


class Memory(Protocol):
    """What was found before, asked before anything is opened, and told what is found now."""

    def recall(self, parts: Parts) -> Inside | Known | None:
        """What is known of a directory and still holds."""
        ...

    def opened(self, parts: Parts, descriptor: int) -> None:
        """A directory is about to be listed."""
        ...

    def listed(self, parts: Parts, inside: Inside) -> None:
        """A directory has no skill in it."""
        ...

    def found(self, found: Found) -> None:
        """A skill is about to be read."""
        ...

    def read(self, found: Found, read: "Read") -> None:
        """A skill was read."""
        ...


class Search:
    """A search and what it left out; the lists are whole once it has ended."""

    def __init__(self, options: ScanOptions, memory: Memory | None = None) -> None:
        self.refused: list[tuple[Parts, OSError]] = []
        """Directories that could not be looked into."""
        self.links: list[Parts] = []
        """Links to directories and links in a circle, which were not followed."""
        self.limits: list[str] = []
        """The settings whose limits ended the search early."""
        self._options = options
        self._memory = memory
        self._entries = options.max_entries_per_root

    def skills(self, root: int) -> Iterator[Found]:
        """Each directory with a skill, nearest first and by name.

        What is below such a directory belongs to the skill and is not searched.
        """
        for found in self.found(root):
            if isinstance(found, Found):
                yield found

    def found(self, root: int) -> Iterator[Found | Known]:
        """The same, with those that the memory has."""
        with _Above(root) as above:
            yield from self._below(root, above)

    def _below(self, root: int, above: "_Above") -> Iterator[Found | Known]:
        waiting: deque[Parts] = deque([()])
        room = self._options.max_dirs_per_root - 1
        while waiting and "max_entries_per_root" not in self.limits:
            parts = waiting.popleft()
            inside = self._memory.recall(parts) if self._memory else None
            if inside is not None and not self._has_room_for(inside.entries):
                return
            if isinstance(inside, Known):
                yield inside
                continue
            if inside is None:
                try:
                    descriptor = above.open(parts)
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
            self.links += [(*parts, name) for name in inside.links if leads_on(root, (*parts, name))]
            found = inside.directories
            if found and len(parts) >= self._options.max_depth:
                self._stopped_by("max_depth")
                continue
            if len(found) > room:
                self._stopped_by("max_dirs_per_root")
            waiting.extend((*parts, name) for name in found[:room])
            room = max(room - len(found), 0)

    @contextmanager
    def at(self, root: int, parts: Parts) -> Generator[Found | None]:
        """The skill in one directory, if there is one; raises `OSError` where nobody can look into it."""
        descriptor = open_below(root, parts, LISTING)
        try:
            inside = self._look(descriptor, parts)
            yield inside if isinstance(inside, Found) else None
        finally:
            os.close(descriptor)

    def _look(self, descriptor: int, parts: Parts) -> Found | Inside:
        if self._memory:
            self._memory.opened(parts, descriptor)
        with os.scandir(descriptor) as listing:
            entries = list(listing if self._entries is None else islice(listing, self._entries + 1))
        if not self._has_room_for(len(entries)):
            return Inside()
        names = frozenset([each.name for each in entries])
        file = skill_file_among(names)
        if file is not None or RUN_FILE in names:
            return Found(parts, descriptor, names, file)
        entered = sorted((each for each in entries if self._may_enter(each.name)), key=lambda each: each.name)
        inside = Inside(
            tuple(each.name for each in entered if each.is_dir(follow_symlinks=False)),
            tuple(each.name for each in entered if each.is_symlink()),
            len(entries),
        )
        if self._memory:
            self._memory.listed(parts, inside)
        return inside

    def _has_room_for(self, entries: int) -> bool:
        """Take so many entries from what may still be looked at."""
        if self._entries is None:
            return True
        if entries > self._entries:
            self._stopped_by("max_entries_per_root")
            return False
        self._entries -= entries
        return True

    def _may_enter(self, name: str) -> bool:
        hidden = self._options.ignore_dot_entries and name.startswith(".")
        return not hidden and name not in _NEVER_ENTERED

    def _stopped_by(self, limit: str) -> None:
        if limit not in self.limits:
            self.limits.append(limit)


class _Above:
    """The directory that the last one was in, kept open for the others in it."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._parts: Parts = ()
        self._descriptor = root

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def open(self, parts: Parts) -> int:
        """Open a directory to see what is in it."""
        if len(parts) < 2:
            return open_below(self._root, parts, LISTING)
        if parts[:-1] != self._parts:
            self._close()
            self._descriptor = open_below(self._root, parts[:-1], ENTERING)
            self._parts = parts[:-1]
        return open_below(self._descriptor, parts[-1:], LISTING)

    def _close(self) -> None:
        if self._descriptor != self._root:
            os.close(self._descriptor)
        self._parts, self._descriptor = (), self._root


def leads_on(root: int, parts: Parts) -> bool:
    """Whether a link below a directory leads to another one, or in a circle."""
    try:
        return stat.S_ISDIR(os.stat("/".join(parts), dir_fd=root).st_mode)
    except OSError as error:
        return error.errno == errno.ELOOP


def skill_directories(path: Path) -> list[Path]:
    """The skills that a path stands for: the one whose file or directory it is, or all below it, or itself."""
    if path.name.lower() == "skill.md" and path.is_file():
        return [path.parent]
    if not path.is_dir():
        return [path]
    root = Path(os.path.realpath(path))
    with open_directory(root) as top:
        return [path.joinpath(*found.parts) for found in Search(ScanOptions()).skills(top)] or [path]
