"""Brings an index up to date where only a few skills have changed: those are read again, and nothing else is looked at.

Whatever is more than that is left to a whole search.
"""

import os
from array import array
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from operator import attrgetter

import msgspec

from skills_runtime.skills.index.remembering import Remembering
from skills_runtime.skills.index.rows import Index, SkillRow
from skills_runtime.skills.index.stamps import NEVER, STAMP_BYTES, WORDS
from skills_runtime.skills.sources.filesystem import FilesystemSource
from skills_runtime.skills.sources.search import Search
from skills_runtime.storage.nofollow import open_directory

MAX_SKILLS = 64
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
    if len(numbers) > MAX_SKILLS:
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
