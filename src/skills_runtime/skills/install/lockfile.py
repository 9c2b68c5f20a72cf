"""The lock file: which skills are installed, where each came from and what it was, as other installers write it too.

Version 1 is the file of a project, version 3 that of a user. Fields nobody here knows are kept as they are.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import msgspec

from skills_runtime.errors import ValidationFailed
from skills_runtime.skills.install.places import Places, Scope
from skills_runtime.text import one_line

VERSIONS: Mapping[Scope, int] = {"project": 1, "user": 3}
MAX_BYTES = 8 << 20
_CONFLICT = b"<<<<<<<"


class LockEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What a lock file says of one skill."""

    source: str
    source_type: str
    source_url: str | None = None
    ref: str | None = None
    skill_path: str | None = None
    computed_hash: str = ""
    """Empty in an entry of another installer that counts on a server to know it."""
    commit: str | None = None
    digest: str | None = None
    """Our own digest of the content, which no two skills share."""
    other: Mapping[str, Any] = {}
    """Every other field of the entry."""


class Lock(msgspec.Struct, frozen=True, kw_only=True):
    """A whole lock file."""

    version: int
    skills: Mapping[str, LockEntry] = {}
    other: Mapping[str, Any] = {}

    def having(self, entries: Mapping[str, LockEntry | None]) -> "Lock":
        """The same file with entries set, and those that are nothing taken out."""
        merged = {**self.skills, **entries}
        kept = {name: entry for name, entry in merged.items() if entry is not None}
        return msgspec.structs.replace(self, skills=kept)


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
"""The fields of an entry and what they are called here, in the order they are written."""


def read_lock(places: Places) -> Lock:
    """The lock file of a scope; one that is not there is empty."""
    try:
        with places.lock.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return Lock(version=VERSIONS[places.scope])
    return parse_lock(data, places.lock, places.scope)


def parse_lock(data: bytes, path: Path, scope: Scope) -> Lock:
    """The lock file in some bytes."""
    if len(data) > MAX_BYTES:
        raise _unusable(path, "it is too long")
    if _CONFLICT in data:
        raise _unusable(path, "git has left both sides of a merge in it")
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _unusable(path, f"it is not JSON: {error}") from error
    fields = _mapping(document, path, "it is no JSON object")
    version = fields.pop("version", None)
    if not isinstance(version, int) or isinstance(version, bool) or version != VERSIONS[scope]:
        raise _unusable(path, f"its version is {one_line(str(version))[:40]}, not {VERSIONS[scope]}")
    skills = _mapping(fields.pop("skills", None), path, "it has no `skills`")
    return Lock(
        version=version, skills={name: _entry(name, value, path) for name, value in skills.items()}, other=fields
    )


def lock_bytes(lock: Lock) -> bytes:
    """A lock file as it is written: skills by name, two spaces, one line break at the end."""
    skills = {name: _fields_of(lock.skills[name]) for name in sorted(lock.skills)}
    document = {"version": lock.version, "skills": skills, **lock.other}
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def _entry(name: str, value: Any, path: Path) -> LockEntry:
    fields = _mapping(value, path, f"the entry `{one_line(name)[:80]}` is no object")
    known: dict[str, Any] = {}
    for field, ours in _FIELDS.items():
        text = fields.pop(field, None)
        if text is not None and not isinstance(text, str):
            raise _unusable(path, f"`{field}` of `{one_line(name)[:80]}` is no text")
        if text is not None:
            known[ours] = text
    if not known.get("source") or not known.get("source_type"):
        raise _unusable(path, f"the entry `{one_line(name)[:80]}` does not say where the skill comes from")
    return LockEntry(**known, other=fields)


def _fields_of(entry: LockEntry) -> dict[str, Any]:
    ours = {field: getattr(entry, name) for field, name in _FIELDS.items()}
    return {**{field: value for field, value in ours.items() if value}, **entry.other}


def _mapping(value: Any, path: Path, problem: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _unusable(path, problem)
    return dict(cast("dict[str, Any]", value))


def _unusable(path: Path, why: str) -> ValidationFailed:
    return ValidationFailed(
        f"the lock file `{path}` cannot be used: {why}",
        hint="restore it, or delete it and write it anew with `skills lock`",
        details={"code": "SKILL_LOCK_INVALID"},
    )
