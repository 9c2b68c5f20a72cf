"""A project with installed skills, and ways to change them."""

import os
from collections.abc import Callable
from pathlib import Path

from skills_runtime.skills.install import InstallPaths, hash_directory, project_places
from skills_runtime.skills.install.fetch import LocalFetcher
from skills_runtime.skills.install.lockfile import LockEntry
from skills_runtime.skills.install.operations import install_prepared
from skills_runtime.skills.install.prepare import Preparation, Prepared
from skills_runtime.skills.install.sources import LocalSource
from skills_runtime.skills.install.transaction import STAGED, InstallChange, apply_changes, open_work_directory
from tests.unit.skills.samples import make_skill

DIED = 9


def places_in(root: Path) -> InstallPaths:
    """The places of a project whose user has nothing else."""
    project = root / "project"
    project.mkdir(parents=True, exist_ok=True)
    return project_places(project, {"HOME": str(root / "home")})


async def prepared_from(places: InstallPaths, work: Path, source: Path) -> list[Prepared]:
    """All skills of a directory, ready to be installed."""
    return await Preparation(places, LocalFetcher(), work).install(LocalSource(source), [], everything=True)


async def install_from(places: InstallPaths, source: Path) -> None:
    """Install all skills of a directory, as if the user had agreed."""
    with open_work_directory(places) as work:
        install_prepared(places, work, await prepared_from(places, work, source))


def put(places: InstallPaths, name: str, text: str) -> None:
    """Install a skill of one file without asking anybody."""
    with open_work_directory(places) as work:
        apply_changes(places, work, [staged_change(places, work, name, text)])


def staged_change(places: InstallPaths, work: Path, name: str, text: str) -> InstallChange:
    """A change that gives a skill another text."""
    staged = make_skill(work / STAGED, name, text=text, files={"scripts/run.sh": text})
    hashed = hash_directory(staged)
    place = places.skills / name
    return InstallChange(
        name=name,
        staged=staged,
        digest=hashed.digest,
        entry=LockEntry(source="x", source_type="local", computed_hash=hashed.computed_hash, digest=hashed.digest),
        expected=hash_directory(place).digest if place.is_dir() else None,
    )


def dies_at(moment: int, work: Callable[[], None]) -> bool:
    """Do something in a process that dies at its n-th use of the system; false when it ended before that."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == DIED
    count = 0

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal count
        del arguments
        if event in ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "shutil.rmtree", "ctypes.dlsym"):
            count += 1
            if count == moment:
                os._exit(DIED)

    try:
        import sys

        sys.addaudithook(watch)
        work()
    except BaseException:  # noqa: BLE001 - the child must not go on as a second test run
        os._exit(1)
    os._exit(0)
