"""Install, remove, lock, verify and roll back skills, after the user has agreed."""

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
"""As locked; different; locked but missing; installed but not locked; locked without a hash."""


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    """A skill that is installed, locked or both."""

    name: str
    directory: Path
    status: Status
    consented: bool
    """Whether the user consented to exactly this content."""
    entry: LockEntry | None = None
    computed_hash: str | None = None


def installed(project: Path | None = None) -> tuple[Installed, ...]:
    """Return the installed skills of a project, or of the user if `project` is None, by name."""
    return verify_installed(project_places(project) if project is not None else user_places())


def verify_installed(paths: InstallPaths) -> tuple[Installed, ...]:
    """Compare every installed skill with the lock file."""
    finish_interrupted(paths)
    lock, agreed = read_lock(paths).skills, read_consents(paths.state)
    names = set(lock)
    for directory in paths.skills.iterdir() if paths.skills.is_dir() else ():
        if directory.name.startswith(".") or not directory.is_dir():
            continue
        if find_skill_file(directory) is not None or (directory / RUN_FILE).is_file():
            names.add(directory.name)
    return tuple(_compare(paths, name, lock.get(name), agreed.keys()) for name in sorted(names))


def install_prepared(
    paths: InstallPaths, work: Path, prepared: Sequence[Prepared], *, accepted_risk: bool = False
) -> None:
    """Install prepared skills; the caller has asked the user."""
    for skill in prepared:
        _store_current(paths, skill.name, skill.before, skill.locked)
        VersionStore(paths.store).keep(skill.staged, skill.hashed)
    agreed = {
        skill.hashed.digest: Consent(
            name=skill.name,
            source=skill.entry.source,
            at=now(),
            accepted_risk=accepted_risk and skill.screened.verdict == "malicious",
        )
        for skill in prepared
    }
    apply_changes(paths, work, [_build_change(skill) for skill in prepared])
    record_consents(paths.state, agreed)


def remove_skills(paths: InstallPaths, names: Sequence[str], *, unlocked_too: bool) -> None:
    """Remove skills and their lock entries; `rollback` restores them."""
    finish_interrupted(paths)
    lock = read_lock(paths).skills
    changes: list[InstallChange] = []
    for name in dict.fromkeys(names):
        directory = paths.skills / check_directory_name(name)
        if name not in lock and not os.path.lexists(directory):
            raise NotFound(f"no skill `{name}` is installed", hint="`skills verify` shows what is there")
        if name not in lock and not unlocked_too:
            raise ValidationFailed(
                f"`{name}` is not in the lock file, so it was not installed by `skills install`",
                hint="use `--force` to remove it anyway",
            )
        current = hash_directory(directory) if directory.is_dir() and not directory.is_symlink() else None
        _store_current(paths, name, current, lock.get(name))
        changes.append(InstallChange(name=name, remove=True, expected=current.digest if current else None))
    _apply(paths, changes)


def write_lock_from_installed(paths: InstallPaths) -> tuple[Installed, ...]:
    """Rewrite the lock file from the installed skills: keep their sources, recompute their hashes."""
    changes: list[InstallChange] = []
    for skill in verify_installed(paths):
        if skill.status == "missing":
            changes.append(InstallChange(name=skill.name))
        elif skill.status != "ok":
            hashed = hash_directory(skill.directory)
            fresh = LockEntry(source=f"./{os.path.relpath(skill.directory, paths.root)}", source_type="local")
            entry = skill.entry or fresh
            commit = None if skill.status == "changed" else entry.commit
            locked = msgspec.structs.replace(
                entry, computed_hash=hashed.computed_hash, digest=hashed.digest, commit=commit
            )
            changes.append(InstallChange(name=skill.name, entry=locked))
    if changes:
        _apply(paths, changes)
    return verify_installed(paths)


def find_previous_version(paths: InstallPaths, name: str) -> tuple[InstalledVersion, Path]:
    """Return the version installed before the current one, and its directory in the store."""
    finish_interrupted(paths)
    directory = paths.skills / check_directory_name(name)
    current = installed_digest(paths, name)
    store = VersionStore(paths.store)
    earlier = [version for version in earlier_versions(paths.state, directory) if version.digest != current]
    if not earlier:
        raise NotFound(
            f"no earlier version of `{name}` is known here",
            hint="only versions replaced on this machine can be restored",
        )
    stored = store.get(earlier[0].digest)
    if stored is None:
        raise NotFound(
            f"the earlier version of `{name}` is no longer kept in `{paths.store}`",
            hint="install the version you want with `skills install SOURCE --ref VERSION`",
        )
    return earlier[0], stored


def roll_back(paths: InstallPaths, work: Path, prepared: Prepared, version: InstalledVersion) -> None:
    """Restore an earlier version with its lock entry."""
    agreed = {prepared.hashed.digest: Consent(name=prepared.name, source=prepared.entry.source, at=now())}
    if prepared.before is not None:
        VersionStore(paths.store).keep(paths.skills / prepared.name, prepared.before)
    change = msgspec.structs.replace(_build_change(prepared), entry=version.entry)
    apply_changes(paths, work, [change])
    record_consents(paths.state, agreed)
    forget_versions(paths.state, paths.skills / prepared.name, version.digest)


def _apply(paths: InstallPaths, changes: Sequence[InstallChange]) -> None:
    with open_work_directory(paths) as work:
        apply_changes(paths, work, changes)


def _build_change(prepared: Prepared) -> InstallChange:
    expected = prepared.before.digest if prepared.before else None
    staged = prepared.staged if prepared.becomes != "same" else None
    return InstallChange(
        name=prepared.name, staged=staged, digest=prepared.hashed.digest, entry=prepared.entry, expected=expected
    )


def _store_current(paths: InstallPaths, name: str, current: Hashed | None, entry: LockEntry | None) -> None:
    if current is None:
        return
    directory = paths.skills / name
    VersionStore(paths.store).keep(directory, current)
    record_version(paths.state, directory, InstalledVersion(digest=current.digest, entry=entry, at=now()))


def _compare(paths: InstallPaths, name: str, entry: LockEntry | None, agreed: Container[str]) -> Installed:
    directory = paths.skills / name
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


def changed_skills(paths: InstallPaths) -> tuple[dict[Path, str], tuple[Problem, ...]]:
    """Return the directories of changed skills with the reason, and problems that prevent the comparison."""
    try:
        lock, consents = read_lock(paths).skills, read_consents(paths.state)
    except SkillsRuntimeError as error:
        return {}, (_unreadable_lock(paths, error.message, error.hint),)
    except OSError as error:
        return {}, (_unreadable_lock(paths, f"`{paths.lock}` cannot be read: {error_reason(error)}", "check the file"),)
    consented_names = {consent.name for consent in consents.values()}
    changed: dict[Path, str] = {}
    for name, entry in lock.items():
        directory = paths.skills / name
        if directory.parent == paths.skills and directory.is_dir():
            reason = _describe_change(directory, entry, frozenset(consents), had_consent=name in consented_names)
            changed |= {directory: reason} if reason else {}
    return changed, ()


def _describe_change(directory: Path, entry: LockEntry, agreed: frozenset[str], *, had_consent: bool) -> str:
    try:
        hashed = hash_directory(directory)
    except (OSError, SkillsRuntimeError):
        return "it cannot be compared with the installed version; run `skills verify` for details"
    if entry.computed_hash or entry.digest:
        return "" if matches_lock(entry, hashed) else "it does not match the lock file; run `skills verify` to compare"
    is_other = had_consent and hashed.digest not in agreed
    return "it changed since you agreed to install it; run `skills verify` to compare" if is_other else ""


def _unreadable_lock(paths: InstallPaths, message: str, hint: str) -> Problem:
    return Problem(
        code="SKILL_LOCK_UNREADABLE",
        message=f"changes of installed skills cannot be detected: {message}",
        hint=hint,
        severity="warning",
        locator=str(paths.lock),
    )
