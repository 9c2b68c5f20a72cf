"""What a search remembers: asked about each directory before it is opened, and told what is in it now."""

import os
from array import array
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from skills_runtime.skills.index.store import (
    NEVER,
    WORDS,
    DirectoryRow,
    Index,
    SkillRow,
    Stamp,
    is_settled,
    stamp_at,
    stamp_of,
)
from skills_runtime.skills.sources.filesystem import DEPENDENCIES, Read
from skills_runtime.skills.sources.search import Found, Inside, Known, Parts
from skills_runtime.skills.standard.skill_yaml import FILE_NAME as RUN_FILE
from skills_runtime.text import one_line

Row = TypeVar("Row")


class _Kept(Generic[Row]):
    """Rows, and the stamps of all of them one after the other."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.watched: list[bytes] = []
        self.stamps = array("q")

    def add(self, row: Row, watched: Iterable[bytes], stamps: Iterable[int]) -> None:
        self.rows.append(row)
        self.watched.extend(watched)
        self.stamps.extend(stamps)


class Remembering:
    """The memory of one search: an index from before, and the one that comes of it."""

    def __init__(self, root: str, before: Index | None, changed: frozenset[int], *, now_ns: Callable[[], int]) -> None:
        self._root = root
        self._now_ns = now_ns
        self._changed = changed
        self._before = before
        self._firsts: dict[bytes, int] = {}
        self._rows: dict[bytes, DirectoryRow | SkillRow] = {}
        self._old = array("q")
        if before is not None:
            self._old.frombytes(before.stamps)
            self._number(before)
        self._directories = _Kept[DirectoryRow]()
        self._skills = _Kept[SkillRow]()
        self._began = 0
        self._own: Stamp = NEVER
        self._files: list[tuple[str, Stamp]] = []

    def recall(self, parts: Parts) -> Inside | Known | None:
        """What is known of a directory, unless one of its stamps has changed."""
        if self._before is None:
            return None
        place = os.fsencode("/".join(parts))
        row = self._rows.get(place)
        if row is None:
            return None
        first, count = self._firsts[place], row.stamps if isinstance(row, SkillRow) else 1
        if self._changed and not self._changed.isdisjoint(range(first, first + count)):
            return None
        watched = self._before.watched[first : first + count]
        stamps = self._old[first * WORDS : (first + count) * WORDS]
        if isinstance(row, DirectoryRow):
            self._directories.add(row, watched, stamps)
            return inside_of(row)
        self._skills.add(row, watched, stamps)
        return Known(parts, row.file, read_of(row), row.entries, row.locator)

    def opened(self, parts: Parts, descriptor: int) -> None:
        """Note how a directory is before it is listed."""
        del parts
        self._began = self._now_ns()
        self._own = self._believed(stamp_of(os.fstat(descriptor)))

    def listed(self, parts: Parts, inside: Inside) -> None:
        """Keep what is in a directory without a skill."""
        place = os.fsencode("/".join(parts))
        directories, links = (tuple(map(os.fsencode, names)) for names in (inside.directories, inside.links))
        self._directories.add(DirectoryRow(place, directories, links, inside.entries), (place,), self._own)

    def found(self, found: Found) -> None:
        """Note how the files of a skill are before they are read."""
        names = [name for name in (found.file, RUN_FILE) if name in found.names]
        if DEPENDENCIES[0] in found.names:
            names.append("/".join(DEPENDENCIES))
        self._files = [(str(name), self._believed(stamp_at(str(name), directory=found.descriptor))) for name in names]

    def read(self, found: Found, read: Read) -> None:
        """Keep what a skill says."""
        place = os.fsencode("/".join(found.parts))
        own = self._own if read.is_whole else NEVER
        base = place + b"/" if place else b""
        files = [base + os.fsencode(name) for name, _ in self._files]
        path = "/".join((self._root.rstrip("/"), *found.parts, found.file or RUN_FILE))
        shown = path if path.isprintable() and " " not in path else one_line(path)
        row = SkillRow(
            place=place,
            stamps=1 + len(files),
            entries=len(found.names),
            file=found.file,
            name=read.name,
            description=read.description,
            locator="" if shown == path else shown,
            metadata=read.metadata,
            variables=read.variables,
            run=read.run,
            content_hash=read.content_hash,
            problems=tuple(read.problems),
        )
        self._skills.add(row, (place, *files), sum((stamp for _, stamp in self._files), own))

    def index(self, key: str, *, limits: tuple[str, ...], is_complete: bool) -> Index:
        """Everything that was found."""
        return Index(
            key=key,
            is_complete=is_complete and bool(self._directories.rows or self._skills.rows),
            limits=limits,
            directories=tuple(self._directories.rows),
            skills=tuple(self._skills.rows),
            watched=(*self._directories.watched, *self._skills.watched),
            stamps=(self._directories.stamps + self._skills.stamps).tobytes(),
        )

    def _number(self, before: Index) -> None:
        """Find each row, and the stamps that are its own."""
        for number, row in enumerate(before.directories):
            self._rows[row.place], self._firsts[row.place] = row, number
        number = len(before.directories)
        for row in before.skills:
            self._rows[row.place], self._firsts[row.place] = row, number
            number += row.stamps

    def _believed(self, stamp: Stamp) -> Stamp:
        return stamp if is_settled(stamp, self._began) else NEVER


def inside_of(row: DirectoryRow) -> Inside:
    """What a directory had in it."""
    return Inside(tuple(map(os.fsdecode, row.directories)), tuple(map(os.fsdecode, row.links)), row.entries)


def read_of(row: SkillRow) -> Read:
    """What a skill said."""
    return Read(
        name=row.name,
        description=row.description,
        metadata=row.metadata,
        variables=row.variables,
        run=row.run,
        content_hash=row.content_hash,
        problems=list(row.problems),
    )
