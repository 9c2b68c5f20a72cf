"""What can be done with installed skills, once it is clear what and the user agrees."""

import os
from collections.abc import Container, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from skills_runtime.errors import NotFound, SkillsRuntimeError, ValidationFailed
from skills_runtime.skills.install.consents import (
    Consent,
    InstalledVersion,
    earlier_versions,
    forget_versions,
    now,
    read_consents,
    record_consents,
    record_version,
)
from skills_runtime.skills.install.hashing import Hashed, hash_directory
from skills_runtime.skills.install.lockfile import (
    InstallPaths,
    LockEntry,
    matches_lock,
    project_places,
    read_lock,
    user_places,
)
from skills_runtime.skills.install.prepare import Prepared
from skills_runtime.skills.install.selection import check_directory_name
from skills_runtime.skills.install.transaction import (
    InstallChange,
    VersionStore,
    apply_changes,
    finish_interrupted,
    installed_digest,
    open_work_directory,
)
from skills_runtime.skills.problems import Problem
from skills_runtime.skills.standard.directories import find_skill_file
from skills_runtime.skills.standard.skill_yaml import RUN_FILE
from skills_runtime.storage import error_reason

Status = Literal["ok", "changed", "missing", "extra", "unpinned"]
"""As locked; not as locked; locked but not there; there but not locked; locked without a hash to compare."""


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    """One skill that is installed, locked or both."""

    name: str
    directory: Path
    status: Status
    consented: bool
    """Whether the user agreed to exactly this content."""
    entry: LockEntry | None = None
    computed_hash: str | None = None


def installed(project: Path | None = None) -> tuple[Installed, ...]:
    """The skills of a project, or of the user where no project is named, by name."""
    return verify_installed(project_places(project) if project is not None else user_places())


def verify_installed(places: InstallPaths) -> tuple[Installed, ...]:
    """Compare every installed skill with the lock file."""
    finish_interrupted(places)
    lock, agreed = read_lock(places).skills, read_consents(places.state)
    names = set(lock)
    for directory in places.skills.iterdir() if places.skills.is_dir() else ():
        if directory.name.startswith(".") or not directory.is_dir():
            continue
        if find_skill_file(directory) is not None or (directory / RUN_FILE).is_file():
            names.add(directory.name)
    return tuple(_compare(places, name, lock.get(name), agreed.keys()) for name in sorted(names))


def install_prepared(
    places: InstallPaths, work: Path, prepared: Sequence[Prepared], *, accepted_risk: bool = False
) -> None:
    """Put prepared skills in place; whoever calls this has asked the user."""
    for each in prepared:
        _keep_before(places, each.name, each.before, each.locked)
        VersionStore(places.store).keep(each.staged, each.hashed)
    agreed = {
        each.hashed.digest: Consent(
            name=each.name,
            source=each.entry.source,
            at=now(),
            accepted_risk=accepted_risk and each.screened.verdict == "malicious",
        )
        for each in prepared
    }
    apply_changes(places, work, [_change(each) for each in prepared])
    record_consents(places.state, agreed)


def remove_skills(places: InstallPaths, names: Sequence[str], *, unlocked_too: bool) -> None:
    """Take skills and their entries away; each can be put back by `rollback`."""
    finish_interrupted(places)
    lock = read_lock(places).skills
    changes: list[InstallChange] = []
    for name in dict.fromkeys(names):
        place = places.skills / check_directory_name(name)
        if name not in lock and not os.path.lexists(place):
            raise NotFound(f"no skill `{name}` is installed", hint="`skills verify` shows what is there")
        if name not in lock and not unlocked_too:
            raise ValidationFailed(
                f"`{name}` is not in the lock file, so it was not installed by `skills install`",
                hint="`--force` removes it all the same",
            )
        before = hash_directory(place) if place.is_dir() and not place.is_symlink() else None
        _keep_before(places, name, before, lock.get(name))
        changes.append(InstallChange(name=name, remove=True, expected=before.digest if before else None))
    _apply(places, changes)


def write_lock_from_installed(places: InstallPaths) -> tuple[Installed, ...]:
    """Make the lock file say what is there: where a skill came from is kept, what it is, is counted anew."""
    changes: list[InstallChange] = []
    for each in verify_installed(places):
        if each.status == "missing":
            changes.append(InstallChange(name=each.name))
        elif each.status != "ok":
            hashed = hash_directory(each.directory)
            fresh = LockEntry(source=f"./{os.path.relpath(each.directory, places.root)}", source_type="local")
            entry = each.entry or fresh
            commit = None if each.status == "changed" else entry.commit
            locked = msgspec.structs.replace(
                entry, computed_hash=hashed.computed_hash, digest=hashed.digest, commit=commit
            )
            changes.append(InstallChange(name=each.name, entry=locked))
    if changes:
        _apply(places, changes)
    return verify_installed(places)


def find_previous_version(places: InstallPaths, name: str) -> tuple[InstalledVersion, Path]:
    """The version that was installed before the present one, and where it is kept."""
    finish_interrupted(places)
    place = places.skills / check_directory_name(name)
    current = installed_digest(places, name)
    store = VersionStore(places.store)
    earlier = [version for version in earlier_versions(places.state, place) if version.digest != current]
    if not earlier:
        raise NotFound(
            f"no earlier version of `{name}` is known here", hint="only what was replaced here can come back"
        )
    kept = store.get(earlier[0].digest)
    if kept is None:
        raise NotFound(
            f"the earlier version of `{name}` is no longer kept in `{places.store}`",
            hint="install the version you want with `skills install SOURCE --ref VERSION`",
        )
    return earlier[0], kept


def roll_back(places: InstallPaths, work: Path, prepared: Prepared, version: InstalledVersion) -> None:
    """Put an earlier version in place again, with the entry it had."""
    agreed = {prepared.hashed.digest: Consent(name=prepared.name, source=prepared.entry.source, at=now())}
    if prepared.before is not None:
        VersionStore(places.store).keep(places.skills / prepared.name, prepared.before)
    change = msgspec.structs.replace(_change(prepared), entry=version.entry)
    apply_changes(places, work, [change])
    record_consents(places.state, agreed)
    forget_versions(places.state, places.skills / prepared.name, version.digest)


def _apply(places: InstallPaths, changes: Sequence[InstallChange]) -> None:
    with open_work_directory(places) as work:
        apply_changes(places, work, changes)


def _change(prepared: Prepared) -> InstallChange:
    before = prepared.before.digest if prepared.before else None
    staged = prepared.staged if prepared.becomes != "same" else None
    return InstallChange(
        name=prepared.name, staged=staged, digest=prepared.hashed.digest, entry=prepared.entry, expected=before
    )


def _keep_before(places: InstallPaths, name: str, before: Hashed | None, entry: LockEntry | None) -> None:
    if before is None:
        return
    place = places.skills / name
    VersionStore(places.store).keep(place, before)
    record_version(places.state, place, InstalledVersion(digest=before.digest, entry=entry, at=now()))


def _compare(places: InstallPaths, name: str, entry: LockEntry | None, agreed: Container[str]) -> Installed:
    directory = places.skills / name
    if not directory.is_dir():
        return Installed(name=name, directory=directory, status="missing", consented=False, entry=entry)
    hashed = hash_directory(directory)
    status: Status = "ok"
    if entry is None:
        status = "extra"
    elif not entry.computed_hash and not entry.digest:
        status = "unpinned"
    elif not matches_lock(entry, hashed):
        status = "changed"
    return Installed(
        name=name,
        directory=directory,
        status=status,
        consented=hashed.digest in agreed,
        entry=entry,
        computed_hash=hashed.computed_hash,
    )


def changed_skills(places: InstallPaths) -> tuple[dict[Path, str], tuple[Problem, ...]]:
    """The directories of changed skills, each with what is to be said of it, and what keeps one from knowing more."""
    try:
        lock, given = read_lock(places).skills, read_consents(places.state)
    except SkillsRuntimeError as error:
        return {}, (_unknown(places, error.message, error.hint),)
    except OSError as error:
        return {}, (_unknown(places, f"`{places.lock}` cannot be read: {error_reason(error)}", "check the file"),)
    known = {consent.name for consent in given.values()}
    found: dict[Path, str] = {}
    for name, entry in lock.items():
        directory = places.skills / name
        if directory.parent == places.skills and directory.is_dir():
            why = _describe_change(directory, entry, frozenset(given), is_known=name in known)
            found |= {directory: why} if why else {}
    return found, ()


def _describe_change(directory: Path, entry: LockEntry, agreed: frozenset[str], *, is_known: bool) -> str:
    try:
        hashed = hash_directory(directory)
    except (OSError, SkillsRuntimeError):
        return "it cannot be compared with what was installed; `skills verify` says more"
    if entry.computed_hash or entry.digest:
        return "" if matches_lock(entry, hashed) else "it is not what the lock file says; `skills verify` compares"
    is_other = is_known and hashed.digest not in agreed
    return "it is not what you agreed to when it was installed; `skills verify` compares" if is_other else ""


def _unknown(places: InstallPaths, message: str, hint: str) -> Problem:
    return Problem(
        code="SKILL_LOCK_UNREADABLE",
        message=f"nobody can tell whether installed skills were changed: {message}",
        hint=hint,
        severity="warning",
        locator=str(places.lock),
    )
