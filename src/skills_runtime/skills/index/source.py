"""A source of skills in directories that remembers what it found, within the process and between processes.

A search that finds everything as it was reads no skill: it only asks the system for the stamps of what it knows.
"""

import hashlib
import os
import sys
import time
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from itertools import accumulate
from operator import attrgetter
from pathlib import Path

import msgspec

from skills_runtime import __version__
from skills_runtime.skills.index.memory import Remembering
from skills_runtime.skills.index.store import NEVER, STAMP_BYTES, WORDS, Index, SkillRow, changed, load, save, stamp_of
from skills_runtime.skills.problems import Problem
from skills_runtime.skills.skill import Skill
from skills_runtime.skills.sources.filesystem import FilesystemSource
from skills_runtime.skills.sources.search import Search, leads_on
from skills_runtime.skills.sources.source import Origin, Report
from skills_runtime.skills.standard.skill_yaml import FILE_NAME as RUN_FILE
from skills_runtime.storage.nofollow import open_directory

MAX_REVISED = 64
"""How many skills are read again one by one."""


class Revised(msgspec.Struct, frozen=True):
    """An index as it is now."""

    index: Index
    is_settled: bool
    """Whether anything of it can be believed the next time that the index from before could not tell."""


def revised(
    before: Index, differing: frozenset[int], files: FilesystemSource, now_ns: Callable[[], int]
) -> Revised | None:
    """The index with the changed skills read again, or nothing where more may have changed than what they say."""
    if not before.is_complete or min(differing) < len(before.directories):
        return None
    firsts = list(accumulate(map(attrgetter("stamps"), before.skills), initial=len(before.directories)))
    numbers = {bisect_right(firsts, one) - 1 for one in differing}
    if len(numbers) > MAX_REVISED:
        return None
    index, is_settled = before, False
    try:
        with open_directory(files.root) as root:
            # From the last to the first, so that the places of those before it stay what they are.
            for number in sorted(numbers, reverse=True):
                one = _read_again(before.skills[number], root, files, now_ns)
                if one is None:
                    return None
                index = _with(index, number, firsts[number], one)
                is_settled = is_settled or not _has_unsettled(one)
    except OSError:
        return None
    return Revised(index, is_settled)


def _read_again(row: SkillRow, root: int, files: FilesystemSource, now_ns: Callable[[], int]) -> Index | None:
    """An index of one skill; nothing where it is none any more, or takes up more or less of what may be searched."""
    memory = Remembering(str(files.root), None, frozenset(), now_ns=now_ns)
    search = Search(files.options, memory)
    parts = tuple(os.fsdecode(row.place).split("/")) if row.place else ()
    with search.at(root, parts) as found:
        if found is None or (len(found.names) != row.entries and files.options.max_entries_per_root is not None):
            return None
        files.read(found, memory)
    return memory.index("", limits=(), is_complete=True)


def _with(index: Index, number: int, first: int, one: Index) -> Index:
    """An index with one skill in the place of what it was; `first` is the number of its first stamp."""
    after = first + index.skills[number].stamps
    return msgspec.structs.replace(
        index,
        skills=(*index.skills[:number], *one.skills, *index.skills[number + 1 :]),
        watched=(*index.watched[:first], *one.watched, *index.watched[after:]),
        stamps=index.stamps[: first * STAMP_BYTES] + one.stamps + index.stamps[after * STAMP_BYTES :],
    )


def _has_unsettled(one: Index) -> bool:
    values = array("q")
    values.frombytes(one.stamps)
    return NEVER[0] in values[::WORDS]


FORMAT = 1
"""Raised whenever an index would be read in another way, or a skill understood in another way."""
_KEPT = 64
RECENT: dict[str, Index] = {}
"""The indexes that this process used last, by their keys."""


class IndexedSource:
    """The skills below one directory, as a `FilesystemSource` finds them."""

    def __init__(
        self, files: FilesystemSource, directory: Path | None, *, now_ns: Callable[[], int] = time.time_ns
    ) -> None:
        self._files = files
        self._directory = directory
        self._now_ns = now_ns
        options = msgspec.json.encode(files.options).decode()
        self._root = str(files.root)
        self._key = f"{FORMAT}|{__version__}|{_reader()}|{os.geteuid()}|{options}|{self._root}"
        self._last: Index | None = None

    @property
    def origin(self) -> Origin:
        """The space it fills."""
        return self._files.origin

    @property
    def root(self) -> Path:
        """The directory it searches."""
        return self._files.root

    def skills(self) -> Report:
        """Search the directory, and read what has changed."""
        before = self._remembered()
        differing = changed(os.fsencode(self._root), before.watched, before.stamps) if before else frozenset[int]()
        if before is not None and before.is_complete and not differing:
            report = self._unchanged(before)
            if report is not None:
                self._last = before
                return report
        if before is not None and differing and (now := revised(before, differing, self._files, self._now_ns)):
            report = self._unchanged(now.index)
            if report is not None:
                # What changed a moment ago is read again the next time anyway, and that it did need not be kept.
                self._keep(now.index, before if now.is_settled else now.index)
                return report
        memory = Remembering(self._root, before, differing, now_ns=self._now_ns)
        search = Search(self._files.options, memory)
        report = self._files.search(search, memory)
        complete = not search.refused and "max_entries_per_root" not in search.limits
        self._keep(memory.index(self._key, limits=tuple(search.limits), is_complete=complete), before)
        return report

    def has_changed(self) -> bool:
        """Whether a stamp is not what it was at the last search, or a directory came where none was."""
        last = self._last
        if last is None:
            return False
        if not last.watched:
            return self.root.is_dir()
        return bool(changed(os.fsencode(self._root), last.watched, last.stamps))

    def body(self, skill: Skill) -> str:
        """The Markdown of a skill, read now."""
        return self._files.body(skill)

    def directories(self) -> Iterator[Path]:
        """The directories whose changes can change what was found last, for whoever wants to watch them."""
        if self._last is None:
            return
        skills = {row.place for row in self._last.skills}
        files = {path.rpartition(b"/")[0] for path in self._last.watched}  # of a file at least its directory
        for place in sorted({row.place for row in self._last.directories} | skills | files):
            yield self.root / os.fsdecode(place)

    def _remembered(self) -> Index | None:
        recent = RECENT.get(self._key)
        if recent is not None or self._directory is None:
            return recent
        return load(self._directory, self._key)

    def _keep(self, index: Index, before: Index | None) -> None:
        self._last = index
        _use(index)
        if self._directory is not None and index != before:
            save(self._directory, index)

    def _unchanged(self, index: Index) -> Report | None:
        """The same report again, or nothing where the directory itself cannot be reached as before."""
        search = Search(self._files.options)
        try:
            with open_directory(self.root) as top:
                for row in index.directories:
                    if row.links:
                        here = tuple(os.fsdecode(row.place).split("/")) if row.place else ()
                        links = ((*here, os.fsdecode(name)) for name in row.links)
                        search.links += [parts for parts in links if leads_on(top, parts)]
        except OSError:
            return None
        search.limits += index.limits
        _use(index)
        return Report(tuple(self._skills(index)), (*self._problems(index), *self._files.left_out(search)))

    def _skills(self, index: Index) -> Iterator[Skill]:
        origin, base = self.origin, self._root.rstrip("/") + "/"
        encoding = sys.getfilesystemencoding()
        namespace, space_id, source_id = origin.namespace, origin.space_id, origin.source_id
        for row in index.skills:
            if row.name:
                place = row.place.decode(encoding, "surrogateescape")  # a call of `fsdecode` costs four times as much
                file = f"{base}{place}/{row.file or RUN_FILE}" if place else f"{base}{row.file or RUN_FILE}"
                yield Skill(
                    namespace=namespace,
                    name=row.name,
                    description=row.description,
                    locator=row.locator or file,
                    space_id=space_id,
                    source_id=source_id,
                    file=file,
                    metadata=row.metadata,
                    required_env_vars=row.variables,
                    run=row.run,
                    content_hash=row.content_hash,
                )

    def _problems(self, index: Index) -> Iterator[Problem]:
        for row in index.skills:
            if row.problems:
                yield from self._files.placed(
                    row.problems, tuple(os.fsdecode(row.place).split("/")) if row.place else ()
                )


@cache
def _reader() -> str:
    """A digest that changes with the code that reads skills: another reader may read them otherwise."""
    whole = hashlib.sha256()
    package = Path(__file__).parent.parent
    for directory in (package, package / "standard", package / "sources"):
        with suppress(OSError), os.scandir(directory) as listing:
            for entry in sorted(listing, key=lambda one: one.name):
                if entry.name.endswith(".py"):
                    whole.update(repr((entry.name, stamp_of(entry.stat())[1:])).encode())
    return whole.hexdigest()[:16]


def _use(index: Index) -> None:
    """Keep an index at hand, and let go of the one that was not used for the longest time."""
    RECENT.pop(index.key, None)
    RECENT[index.key] = index
    while len(RECENT) > _KEPT:
        RECENT.pop(next(iter(RECENT)), None)
