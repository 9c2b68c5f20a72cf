"""skills lock: the lock file from what is installed."""

import sys
from dataclasses import dataclass

from skills_runtime.cli.options import Json
from skills_runtime.cli.program import Command, Program
from skills_runtime.cli.skill_options import ScopeOptions


@dataclass(frozen=True, kw_only=True)
class SkillsLockOptions(ScopeOptions):
    """What `skills lock` takes."""

    json: Json = False


def skills_lock(options: SkillsLockOptions, program: Program) -> int:
    """Write the lock file from what is installed."""
    from skills_runtime.cli.render.skill_changes import show_installed, write_installed
    from skills_runtime.cli.skill_installing import places_of
    from skills_runtime.skills.install.operations import write_lock_from_installed

    del program
    skills = write_lock_from_installed(places_of(options))
    (write_installed if options.json else show_installed)(skills, sys.stdout)
    return 0


COMMAND = Command(options=SkillsLockOptions, work=skills_lock, examples=("skills lock", "skills lock --scope user"))
