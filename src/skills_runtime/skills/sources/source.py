"""The protocol of skill sources."""

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec

from skills_runtime.skills.problems import Problem
from skills_runtime.skills.skill import Skill


class Origin(msgspec.Struct, frozen=True):
    """The space and the namespace of a source."""

    space_id: str
    namespace: str
    source_id: str
    level: int = 0
    """Precedence: of skills with the same name the lowest level wins. Explicitly configured sources have level zero."""


class ScanOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a search for skills."""

    ignore_dot_entries: bool = True
    max_depth: int = 99
    max_dirs_per_root: int = 100_000
    max_entries_per_root: int | None = None
    max_frontmatter_bytes: int = 65_536
    settings: str = "skills.scan"
    """Configuration section of these limits, named in messages."""


class Report(msgspec.Struct, frozen=True):
    """The skills and problems of a search."""

    skills: tuple[Skill, ...] = ()
    problems: tuple[Problem, ...] = ()


class Source(Protocol):
    """A source of skills."""

    @property
    def origin(self) -> Origin:
        """The origin of its skills."""
        ...

    def skills(self) -> Report:
        """Search the source; broken skills are reported as problems and raise nothing."""
        ...

    def body(self, skill: Skill) -> str:
        """Read the Markdown body of a skill; raise `SkillError` if it cannot be read."""
        ...


@runtime_checkable
class ChangeDetecting(Protocol):
    """A source that can cheaply tell whether its skills may have changed."""

    def has_changed(self) -> bool:
        """Return whether a new search may differ from the last one, without reading skills."""
        ...


@runtime_checkable
class Watchable(Protocol):
    """A source whose directories can be watched."""

    @property
    def root(self) -> Path:
        """The searched directory, which may not exist."""
        ...

    def directories(self) -> Iterable[Path]:
        """Return the directories to watch for changes of the last result."""
        ...
