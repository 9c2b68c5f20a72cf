"""The other skills that a model chooses among: what else would be called for a query, with the skill and without it."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.skills import FilesystemSource, Origin
from skills_runtime.skills.actions import directory_digest
from skills_runtime.skills.sources.search import skill_directories


def neighbours_at(paths: Iterable[Path], skill: Path) -> tuple[Path, ...]:
    """The directories of all usable skills at or below some paths, each once and less the skill itself."""
    found: dict[Path, str] = {}
    for path in paths:
        if not path.exists():
            raise NotFound(f"there is nothing at `{path}`", hint="name skills, or a directory with skills in it")
        here = {one: name for one in skill_directories(path.resolve()) if (name := _name_of(one))}
        if not here:
            raise ValidationFailed(f"there are no skills in `{path}`", hint="see `skills validate`")
        found |= here
    found.pop(skill, None)
    names = [*found.values(), _name_of(skill)]
    shared = next((name for name in names if names.count(name) > 1), None)
    if shared is not None:
        raise ValidationFailed(
            f"queries cannot be tried among two skills with the name `{shared}`", hint="leave one of them out"
        )
    return tuple(found)


def _name_of(directory: Path) -> str:
    """What the skill of a directory is called; empty where there is none that can be used."""
    skills = FilesystemSource(Origin("eval", "beside", "others"), directory).skills().skills
    return next((one.name for one in skills if one.directory == directory), "")


def places_of(neighbours: Iterable[Path], root: Path) -> dict[Path, Path]:
    """Where each of them is copied to below a directory; two directories of one name get two."""
    places: dict[Path, Path] = {}
    taken: set[str] = set()
    for source in neighbours:
        number, name = 1, source.name
        while name in taken:
            number += 1
            name = f"{source.name}-{number}"
        taken.add(name)
        places[source] = root / name
    return places


def digest_of(places: Mapping[Path, Path]) -> str:
    """One digest of all copies; where the skills came from does not count."""
    if not places:
        return ""
    rows = sorted(f"{place.name} {directory_digest(place)}\n" for place in places.values())
    return hashlib.sha256("".join(rows).encode(errors="surrogateescape")).hexdigest()
