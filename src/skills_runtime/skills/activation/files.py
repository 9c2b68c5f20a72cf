"""The files a skill brings, by name: enough to ask for them, and never all of a large directory."""

import os
from collections.abc import Iterator

import msgspec

from skills_runtime.skills.skill import Skill
from skills_runtime.storage.nofollow import LISTING, open_below, open_directory

MAX_SHOWN = 20
MAX_SEEN = 2000
_OF_THE_SKILL = frozenset({"SKILL.md", "skill.md", "skill.yaml", "skill.yml"})


class Listing(msgspec.Struct, frozen=True):
    """Some files of a skill, and how many there are besides."""

    names: tuple[str, ...] = ()
    more: int = 0


def files_of(skill: Skill) -> Listing:
    """What lies in the directory of a skill besides its own text; what cannot be looked at is left out."""
    if skill.directory is None:
        return Listing()
    try:
        with open_directory(skill.directory) as top:
            found = sorted(_below(top))
    except OSError:
        return Listing()
    return Listing(tuple(found[:MAX_SHOWN]), max(0, len(found) - MAX_SHOWN))


def _below(top: int) -> Iterator[str]:
    waiting: list[tuple[str, ...]] = [()]
    seen = 0
    while waiting:
        parts = waiting.pop(0)
        try:
            entries = _entries(top, parts)
        except OSError:  # one that is closed hides only what is in it
            continue
        for name, is_directory in entries:
            seen += 1
            if seen > MAX_SEEN:
                return
            if is_directory:
                waiting.append((*parts, name))
            elif parts or name not in _OF_THE_SKILL:
                yield "/".join((*parts, name))


def _entries(top: int, parts: tuple[str, ...]) -> list[tuple[str, bool]]:
    here = open_below(top, parts, LISTING)
    try:
        with os.scandir(here) as entries:
            kept = [one for one in entries if not one.name.startswith(".") and not one.is_symlink()]
            return sorted((one.name, one.is_dir(follow_symlinks=False)) for one in kept)
    finally:
        os.close(here)
