"""What every place that skills come from can do."""

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec

from skills_runtime.skills.problems import Problem
from skills_runtime.skills.skill import Skill


class Origin(msgspec.Struct, frozen=True):
    """Which space a source fills, and under which namespace."""

    space_id: str
    namespace: str
    source_id: str
    level: int = 0
    """How near it is: of skills with one name the lowest level counts. What settings name explicitly has zero."""


class ScanOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How far a search for skills goes."""

    ignore_dot_entries: bool = True
    max_depth: int = 99
    max_dirs_per_root: int = 100_000
    max_entries_per_root: int | None = None
    max_frontmatter_bytes: int = 65_536
    settings: str = "skills.scan"
    """Where these limits are set, for whoever reaches one."""


class Report(msgspec.Struct, frozen=True):
    """What a search found, and what it could not use."""

    skills: tuple[Skill, ...] = ()
    problems: tuple[Problem, ...] = ()


class Source(Protocol):
    """A place that skills come from."""

    @property
    def origin(self) -> Origin:
        """The space it fills."""
        ...

    def skills(self) -> Report:
        """Search it once; what is broken is in the report and raises nothing."""
        ...

    def body(self, skill: Skill) -> str:
        """The Markdown of one of its skills; raises `SkillError` when it cannot be read."""
        ...


@runtime_checkable
class ChangeDetecting(Protocol):
    """A source that can tell, at next to no cost, whether another search is worth it."""

    def has_changed(self) -> bool:
        """Whether a search might find something else than the last one did; no skill is read to find out."""
        ...


@runtime_checkable
class Watchable(Protocol):
    """A source whose skills lie in directories that can be watched."""

    @property
    def root(self) -> Path:
        """The directory it searches, there or not."""
        ...

    def directories(self) -> Iterable[Path]:
        """The directories whose changes can change what was found last."""
        ...
