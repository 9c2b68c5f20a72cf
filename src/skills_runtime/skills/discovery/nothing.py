"""That there is nothing to discover: remembered until a directory changes in which something could appear.

Most runs have no skills, and whoever begins hundreds of them would ask the disk for the same forty names each time.
"""

import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from skills_runtime.skills.discovery.discover import candidates_of, discover
from skills_runtime.skills.discovery.places import Places, above, repository_of
from skills_runtime.skills.discovery.plugins import MANIFESTS, MARKETPLACE

if TYPE_CHECKING:
    from skills_runtime.config.skill_models import SkillsSettings

HOLDS_NS = 1_000_000_000
"""So long a look holds at most: the clock of a disk that others share may be wrong."""
SETTLED_NS = 20_000_000
"""A directory that changed so short a time before the look may change again unseen: clocks of disks tick slowly."""
SECOND_NS, SECONDS_NS = 1_000_000_000, 2_000_000_000
"""A disk that counts whole seconds shows changes only after so many of them."""

Mark = tuple[int, int, int]


class Nothing:
    """The directories in which something could appear, as they were before somebody looked and found nothing."""

    def __init__(self, places: Places, settings: "SkillsSettings") -> None:
        self._at = time.time_ns()
        self._marks = dict[str, Mark]()
        for directory in above(str(places.workspace)):
            self._mark_above(f"{directory}/.git")
        first = {self._mark_above(name) for name in _names(places, settings)}
        settled = all(is_settled(changed, self._at) for _, _, changed in self._marks.values())
        self.is_certain = settled and not any(os.path.lexists(path) for path in first)
        """Whether every later change will show in a directory that is remembered.

        It would not where something has one of the names already: a link that leads nowhere, or plugins without skills.
        """

    def _mark_above(self, path: str) -> str:
        """Remember the nearest directory above a path that is there; returns what would have to appear in it first."""
        while True:
            directory = os.path.dirname(path)  # noqa: PTH120 - a `Path` costs more than the system
            if directory in self._marks or directory == path:
                return path
            try:
                self._marks[directory] = _mark(directory)
            except OSError:
                path = directory
            else:
                return path

    def holds(self) -> bool:
        """Whether nothing can have appeared since."""
        if not 0 <= time.time_ns() - self._at < HOLDS_NS:
            return False
        try:
            return all(_mark(path) == mark for path, mark in self._marks.items())
        except OSError:
            return False


def looked_for_nothing(places: Places, settings: "SkillsSettings") -> tuple[bool, Nothing | None]:
    """Whether there is anything to discover, and if there is nothing, that it may be remembered."""
    nothing = Nothing(places, settings) if not settings.discovery.packages else None
    found = discover(places, settings)
    nowhere = not (found.roots or found.untrusted or found.problems)
    return bool(found.roots), nothing if nowhere and nothing is not None and nothing.is_certain else None


def is_settled(changed: int, at: int) -> bool:
    """Whether a directory that has changed then, by its own clock, must show another time if it changes now."""
    return changed < at - (SETTLED_NS if changed % SECOND_NS else SECONDS_NS)


def _names(places: Places, settings: "SkillsSettings") -> Iterator[str]:
    """Every path that `discover` asks for, besides those that tell where a project ends."""
    project = repository_of(str(places.workspace))
    wanted: Any = settings.discovery  # it has a hash, which its type does not tell
    roots, plugins = candidates_of(places, project, wanted)
    yield from (root.path for _, inside in roots for root in inside)
    if settings.discovery.plugins and settings.discovery.project:
        yield from (f"{project}/{name}" for name in (*MANIFESTS, MARKETPLACE))
    yield from (directory for directory, _ in plugins)


def _mark(path: str) -> Mark:
    found = os.stat(path)  # noqa: PTH116 - as above
    return found.st_dev, found.st_ino, found.st_ctime_ns  # which nobody can set back, and which rights change too
