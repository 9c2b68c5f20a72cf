"""Which installed skills are no longer what was installed; only those that a lock file names are looked at."""

from pathlib import Path

from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.skills.install.hashing import hash_directory
from skills_runtime.skills.install.lockfile import LockEntry, read_lock
from skills_runtime.skills.install.memory import consents
from skills_runtime.skills.install.places import Places
from skills_runtime.skills.install.preparing import matches
from skills_runtime.skills.problems import Problem
from skills_runtime.storage.nofollow import error_reason


def changed_skills(places: Places) -> tuple[dict[Path, str], tuple[Problem, ...]]:
    """The directories of changed skills, each with what is to be said of it, and what keeps one from knowing more."""
    try:
        lock, given = read_lock(places).skills, consents(places.state)
    except SkillsRuntimeError as error:
        return {}, (_unknown(places, error.message, error.hint),)
    except OSError as error:
        return {}, (_unknown(places, f"`{places.lock}` cannot be read: {error_reason(error)}", "check the file"),)
    known = {consent.name for consent in given.values()}
    found: dict[Path, str] = {}
    for name, entry in lock.items():
        directory = places.skills / name
        if directory.parent == places.skills and directory.is_dir():
            why = _why(directory, entry, frozenset(given), is_known=name in known)
            found |= {directory: why} if why else {}
    return found, ()


def _why(directory: Path, entry: LockEntry, agreed: frozenset[str], *, is_known: bool) -> str:
    try:
        hashed = hash_directory(directory)
    except (OSError, SkillsRuntimeError):
        return "it cannot be compared with what was installed; `skills verify` says more"
    if entry.computed_hash or entry.digest:
        return "" if matches(entry, hashed) else "it is not what the lock file says; `skills verify` compares"
    is_other = is_known and hashed.digest not in agreed
    return "it is not what you agreed to when it was installed; `skills verify` compares" if is_other else ""


def _unknown(places: Places, message: str, hint: str) -> Problem:
    return Problem(
        code="SKILL_LOCK_UNREADABLE",
        message=f"nobody can tell whether installed skills were changed: {message}",
        hint=hint,
        severity="warning",
        locator=str(places.lock),
    )
