"""Exactly what the lock file says."""

from skills_runtime.errors import NotFound
from skills_runtime.skills.install.lockfile import read_lock
from skills_runtime.skills.install.places import Places
from skills_runtime.skills.install.preparing import Preparation, Prepared


async def locked_skills(places: Places, preparation: Preparation) -> list[Prepared]:
    """Every locked skill, made ready as it was locked; one that cannot be had like that stops all of them."""
    lock = read_lock(places)
    if not lock.skills:
        raise NotFound(
            f"there is nothing locked in `{places.lock}`", hint="install something first, or write `skills lock`"
        )
    return [await preparation.locked(name, entry) for name, entry in sorted(lock.skills.items())]
