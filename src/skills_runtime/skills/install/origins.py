"""From a source to the entry of a lock file that leads back to it, and back.

Pure.
"""

import os
from pathlib import Path

import msgspec

from skills_runtime.errors import ValidationFailed
from skills_runtime.skills.install.lockfile import LockEntry
from skills_runtime.skills.install.sources import (
    ARCHIVES,
    ArchiveSource,
    GitSource,
    IndexSource,
    LocalSource,
    Source,
    checked_ref,
    parse_source,
)
from skills_runtime.text import one_line

_GIT_KINDS = ("github", "gitlab", "git")


def entry_for(source: Source, *, root: Path, skill_path: str | None = None) -> LockEntry:
    """What a lock file says of where a skill comes from; `root` is what local paths are relative to."""
    if isinstance(source, GitSource):
        file = f"{skill_path}/SKILL.md" if skill_path else "SKILL.md"
        return LockEntry(
            source=source.name, source_type=source.kind, source_url=source.url, ref=source.ref, skill_path=file
        )
    if isinstance(source, IndexSource):
        return LockEntry(source=source.url, source_type="well-known", source_url=source.url)
    path = f"{skill_path}/SKILL.md" if skill_path else None
    if isinstance(source, ArchiveSource):
        if source.is_remote:
            return LockEntry(source=source.location, source_type="archive", source_url=source.location, skill_path=path)
        return LockEntry(source=_near(Path(source.location), root), source_type="archive", skill_path=path)
    return LockEntry(source=_near(source.path, root), source_type="local", skill_path=path)


def source_of(name: str, entry: LockEntry, *, root: Path) -> Source:
    """Where a locked skill comes from."""
    if entry.source_type in _GIT_KINDS:
        return _repository(entry, root)
    if entry.source_type == "well-known":
        return IndexSource(entry.source_url or entry.source)
    if entry.source_type == "archive" or (entry.source_type == "local" and entry.source.lower().endswith(ARCHIVES)):
        remote = entry.source.startswith(("https://", "http://"))
        return ArchiveSource(entry.source if remote else str(root / Path(entry.source).expanduser()))
    if entry.source_type == "local":
        return LocalSource(root / Path(entry.source).expanduser())
    raise ValidationFailed(
        f"`{name}` comes from a source of the type `{one_line(entry.source_type)[:40]}`, which is not known here",
        hint="install it anew with `skills install`, or use the program that locked it",
    )


def path_of(entry: LockEntry) -> str | None:
    """The directory of a skill in its source, empty for the whole source, nothing where the lock does not say."""
    if entry.skill_path is None:
        return None
    path = entry.skill_path.replace("\\", "/")
    path = "" if path.lower() == "skill.md" else path
    return path[: -len("/SKILL.md")] if path.lower().endswith("/skill.md") else path.strip("/")


def _repository(entry: LockEntry, root: Path) -> GitSource:
    source = parse_source(entry.source_url or entry.source, here=Path(os.devnull))
    if not isinstance(source, GitSource):
        source = parse_source(f"git+{entry.source_url or entry.source}", here=root)
    if not isinstance(source, GitSource):
        raise ValidationFailed(f"`{one_line(entry.source)[:80]}` is no git repository", hint="correct the lock file")
    kind = "github" if entry.source_type == "github" else "gitlab" if entry.source_type == "gitlab" else "git"
    ref = checked_ref(entry.ref) if entry.ref else None
    return msgspec.structs.replace(source, name=entry.source, kind=kind, ref=ref, path=None)


def _near(path: Path, root: Path) -> str:
    """A path below the root as a relative one, so that a project can be moved."""
    real = Path(os.path.realpath(path))
    near = os.path.relpath(real, os.path.realpath(root))
    return str(real) if near.startswith("..") else f"./{near}"
