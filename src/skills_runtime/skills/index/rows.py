"""What an index holds of one directory tree: plain values, and the stamps that say whether they still hold."""

from collections.abc import Mapping
from typing import Any

import msgspec

from skills_runtime.skills.index.stamps import STAMP_BYTES
from skills_runtime.skills.problems import Problem
from skills_runtime.skills.skill import RunDefinition


class DirectoryRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A directory without a skill; names are the bytes that the system has for them."""

    place: bytes
    directories: tuple[bytes, ...]
    links: tuple[bytes, ...]
    entries: int


class SkillRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A directory with a skill, usable or not."""

    place: bytes
    stamps: int
    """How many stamps it has: its own, and those of its files."""
    entries: int
    file: str | None
    name: str
    description: str
    locator: str
    """Its path fit to be printed, where that is not the path itself."""
    metadata: Mapping[str, Any]
    variables: tuple[str, ...]
    run: RunDefinition | None
    content_hash: str
    problems: tuple[Problem, ...]


class Index(msgspec.Struct, frozen=True, array_like=True, kw_only=True, gc=False):
    """Everything a search found."""

    key: str
    """What was searched, and by which version of this program."""
    is_complete: bool
    """Whether nothing was left out that may be there the next time."""
    limits: tuple[str, ...]
    directories: tuple[DirectoryRow, ...]
    skills: tuple[SkillRow, ...]
    watched: tuple[bytes, ...]
    """The paths that have stamps: one of each directory without a skill, then those of each skill."""
    stamps: bytes

    def is_sound(self) -> bool:
        """Whether its parts fit together."""
        count, stamps = len(self.watched), [row.stamps for row in self.skills]
        return (
            len(self.stamps) == count * STAMP_BYTES
            and min(stamps, default=1) > 0
            and count == len(self.directories) + sum(stamps)
        )
