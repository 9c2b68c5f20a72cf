"""Paths of installed skills, for a project and for a user, and the lock file that records their sources.

The file format is shared with other installers: version 1 for projects, version 3 for users. Unknown fields are
preserved.
"""

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from skills_runtime.config import home, process_environ, state_home
from skills_runtime.errors import ValidationFailed
from skills_runtime.skills.install.hashing import Hashed
from skills_runtime.storage import lock_directory
from skills_runtime.text import one_line

InstallScope = Literal["project", "user"]

PROJECT_LOCK = "skills-lock.json"
USER_LOCK = ".skill-lock.json"
STAGING = ".skills-staging"


class InstallPaths(msgspec.Struct, frozen=True, kw_only=True):
    """The directories and files of one scope."""

    scope: InstallScope
    root: Path
    """The project directory or the user's home."""
    skills: Path
    """The directory of installed skills, one subdirectory each."""
    lock: Path
    store: Path
    """Cache of installed versions by digest; it may be deleted at any time."""
    state: Path
    """The user's consents and previous versions."""

    @property
    def staging(self) -> Path:
        """Staging directory, on the same file system as the skills so that renames are atomic."""
        return self.skills.parent / STAGING


def project_places(root: Path, environ: Mapping[str, str] | None = None) -> InstallPaths:
    """Return the paths of a project; its skills directory must be inside the project."""
    real = Path(os.path.realpath(root))
    skills = Path(os.path.realpath(real / ".agents" / "skills"))
    if not skills.is_relative_to(real) or skills == real:
        raise ValidationFailed(
            f"`.agents/skills` of `{root}` leads out of the project, to `{skills}`",
            hint="replace the link by a directory, or install for the user with `--scope user`",
        )
    return InstallPaths(
        scope="project",
        root=real,
        skills=skills,
        lock=real / PROJECT_LOCK,
        store=_store(environ),
        state=state_home(environ) / "skills",
    )


def user_places(environ: Mapping[str, str] | None = None) -> InstallPaths:
    """Return the paths of the user, which all projects share."""
    process = process_environ(environ)
    user_home = home(process)
    agents = user_home / ".agents"
    configured = process.get("XDG_STATE_HOME", "")
    lock = Path(configured) / "skills" / USER_LOCK if Path(configured).is_absolute() else agents / USER_LOCK
    skills = Path(os.path.realpath(agents / "skills"))
    return InstallPaths(
        scope="user",
        root=user_home,
        skills=skills,
        lock=lock,
        store=_store(environ),
        state=state_home(environ) / "skills",
    )


@contextmanager
def exclusive_directory(directory: Path) -> Generator[None]:
    """Create a directory if needed and lock it; the lock is released when the process dies."""
    directory.mkdir(mode=0o755, parents=True, exist_ok=True)
    with lock_directory(directory):
        yield


def _store(environ: Mapping[str, str] | None) -> Path:
    process = process_environ(environ)
    configured = process.get("XDG_CACHE_HOME", "")
    cache = Path(configured) if Path(configured).is_absolute() else home(process) / ".cache"
    return cache / "skills_runtime" / "skill-store"


LOCK_VERSIONS: Mapping[InstallScope, int] = {"project": 1, "user": 3}
MAX_LOCK_BYTES = 8 << 20
_CONFLICT = b"<<<<<<<"


class LockEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One skill in a lock file."""

    source: str
    source_type: str
    source_url: str | None = None
    ref: str | None = None
    skill_path: str | None = None
    computed_hash: str = ""
    """Empty in entries of installers that store the hash on a server."""
    commit: str | None = None
    digest: str | None = None
    """Our own digest of the content, which is unambiguous."""
    other: Mapping[str, Any] = {}
    """Every other field of the entry."""


class Lock(msgspec.Struct, frozen=True, kw_only=True):
    """A whole lock file."""

    version: int
    skills: Mapping[str, LockEntry] = {}
    other: Mapping[str, Any] = {}

    def having(self, entries: Mapping[str, LockEntry | None]) -> "Lock":
        """Return a copy with entries set; an entry of None is removed."""
        merged = {**self.skills, **entries}
        present = {name: entry for name, entry in merged.items() if entry is not None}
        return msgspec.structs.replace(self, skills=present)


_FIELDS = {
    "source": "source",
    "sourceUrl": "source_url",
    "ref": "ref",
    "sourceType": "source_type",
    "skillPath": "skill_path",
    "computedHash": "computed_hash",
    "commit": "commit",
    "contentDigest": "digest",
}
"""JSON field to attribute name, in the order in which fields are written."""


def read_lock(paths: InstallPaths) -> Lock:
    """Read the lock file of a scope; return an empty one if it does not exist."""
    try:
        with paths.lock.open("rb") as file:
            data = file.read(MAX_LOCK_BYTES + 1)
    except FileNotFoundError:
        return Lock(version=LOCK_VERSIONS[paths.scope])
    return parse_lock(data, paths.lock, paths.scope)


def parse_lock(data: bytes, path: Path, scope: InstallScope) -> Lock:
    """Parse a lock file."""
    if len(data) > MAX_LOCK_BYTES:
        raise _invalid_lock(path, "it is too long")
    if _CONFLICT in data:
        raise _invalid_lock(path, "it contains merge conflict markers")
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _invalid_lock(path, f"it is not JSON: {error}") from error
    fields = _mapping(document, path, "it is no JSON object")
    version = fields.pop("version", None)
    if not isinstance(version, int) or isinstance(version, bool) or version != LOCK_VERSIONS[scope]:
        raise _invalid_lock(path, f"its version is {one_line(str(version))[:40]}, not {LOCK_VERSIONS[scope]}")
    skills = _mapping(fields.pop("skills", None), path, "it has no `skills`")
    return Lock(
        version=version, skills={name: _parse_entry(name, value, path) for name, value in skills.items()}, other=fields
    )


def matches_lock(entry: LockEntry, hashed: Hashed) -> bool:
    """Return whether a directory matches its lock entry, including our digest if the entry has it."""
    digest_holds = entry.digest is None or entry.digest == hashed.digest
    return (
        digest_holds and entry.computed_hash in ("", hashed.computed_hash) and bool(entry.computed_hash or entry.digest)
    )


def lock_bytes(lock: Lock) -> bytes:
    """Encode a lock file: skills sorted by name, two-space indent, final line break."""
    skills: dict[str, dict[str, Any]] = {}
    for name in sorted(lock.skills):
        entry = lock.skills[name]
        values = {field: getattr(entry, attribute) for field, attribute in _FIELDS.items()}
        skills[name] = {**{field: value for field, value in values.items() if value}, **entry.other}
    document = {"version": lock.version, "skills": skills, **lock.other}
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def _parse_entry(name: str, value: Any, path: Path) -> LockEntry:
    fields = _mapping(value, path, f"the entry `{one_line(name)[:80]}` is no object")
    values: dict[str, Any] = {}
    for field, attribute in _FIELDS.items():
        text = fields.pop(field, None)
        if text is not None and not isinstance(text, str):
            raise _invalid_lock(path, f"`{field}` of `{one_line(name)[:80]}` is no text")
        if text is not None:
            values[attribute] = text
    if not values.get("source") or not values.get("source_type"):
        raise _invalid_lock(path, f"the entry `{one_line(name)[:80]}` does not say where the skill comes from")
    return LockEntry(**values, other=fields)


def _mapping(value: Any, path: Path, problem: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _invalid_lock(path, problem)
    return dict(cast("dict[str, Any]", value))


def _invalid_lock(path: Path, reason: str) -> ValidationFailed:
    return ValidationFailed(
        f"the lock file `{path}` cannot be used: {reason}",
        hint="restore it, or delete it and write it anew with `skills lock`",
        details={"code": "SKILL_LOCK_INVALID"},
    )
