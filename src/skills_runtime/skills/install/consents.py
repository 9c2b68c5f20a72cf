"""The user's record of consents and of previously installed versions.

Stored outside every project, so that a project cannot consent to its own skills.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from skills_runtime.clock import SystemClock
from skills_runtime.errors import StorageFailed
from skills_runtime.skills.install.hashing import hash_directory
from skills_runtime.skills.install.lockfile import LockEntry, exclusive_directory, user_places
from skills_runtime.storage import write_atomic

MAX_VERSIONS = 20
"""Number of previous versions recorded per skill."""
_Document = TypeVar("_Document")


class Consent(msgspec.Struct, frozen=True, kw_only=True):
    """The user's consent to exactly one content digest."""

    name: str
    source: str
    at: str
    accepted_risk: bool = False


class InstalledVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A previously installed version."""

    digest: str
    entry: LockEntry | None
    """Its lock file entry; None if it was not locked."""
    at: str


def consented(skill_dir: Path, *, state: Path | None = None) -> bool:
    """Return whether the user consented to the current content of a directory."""
    try:
        digest = hash_directory(skill_dir).digest
    except OSError:
        return False
    return digest in read_consents(state or user_places().state)


def read_consents(state: Path) -> Mapping[str, Consent]:
    """Return every consent by content digest."""
    return _read(state / "consents.json", dict[str, Consent])


def record_consents(state: Path, consents: Mapping[str, Consent]) -> None:
    """Add consents to the user's record."""
    with exclusive_directory(state):
        _write(state / "consents.json", {**read_consents(state), **consents})


def earlier_versions(state: Path, path: Path) -> tuple[InstalledVersion, ...]:
    """Return the versions installed at a path before, most recent first."""
    return tuple(_read(state / "versions.json", dict[str, list[InstalledVersion]]).get(str(path), ()))


def record_version(state: Path, path: Path, version: InstalledVersion) -> None:
    """Record a version that is about to be replaced or removed."""
    with exclusive_directory(state):
        versions = _read(state / "versions.json", dict[str, list[InstalledVersion]])
        older = [candidate for candidate in versions.get(str(path), ()) if candidate.digest != version.digest]
        _write(state / "versions.json", {**versions, str(path): [version, *older][:MAX_VERSIONS]})


def forget_versions(state: Path, path: Path, until: str) -> None:
    """Forget the versions up to and including the digest `until`, which is installed again."""
    with exclusive_directory(state):
        versions = _read(state / "versions.json", dict[str, list[InstalledVersion]])
        path_versions = versions.get(str(path), [])
        digests = [version.digest for version in path_versions]
        if until in digests:
            _write(state / "versions.json", {**versions, str(path): path_versions[digests.index(until) + 1 :]})


def now() -> str:
    """Return the current time in the format of the lock file."""
    return SystemClock().now()


def _read(path: Path, kind: type[_Document]) -> _Document:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return kind()
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise StorageFailed(
            f"`{path}` is damaged: {error}", hint="delete it; you will be asked for your consent again"
        ) from error


def _write(path: Path, value: object) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomic(path, msgspec.json.format(msgspec.json.encode(value), indent=1))
