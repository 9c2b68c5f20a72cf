"""skills rollback: the version of a skill that was there before."""

import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from skills_runtime.cli.program import Command, Program
from skills_runtime.cli.skill_options import AgreeOptions


@dataclass(frozen=True, kw_only=True)
class SkillsRollbackOptions(AgreeOptions):
    """What `skills rollback` takes."""

    name: Annotated[str, typer.Argument(metavar="NAME", help="A skill that was updated or removed.")]


def skills_rollback(options: SkillsRollbackOptions, program: Program) -> int:
    """Put the version of a skill back that was there before."""
    from skills_runtime.cli.machine import checked_text
    from skills_runtime.cli.render.skill_changes import show_prepared
    from skills_runtime.cli.skill_installing import ask, check, places_of, tell
    from skills_runtime.skills.install.applying import working
    from skills_runtime.skills.install.fetching import LocalFetcher
    from skills_runtime.skills.install.lockfile import LockEntry
    from skills_runtime.skills.install.operations import previous, roll_back
    from skills_runtime.skills.install.preparing import Preparation

    del program
    places, name = places_of(options), checked_text(options.name, "NAME")
    version, kept = previous(places, name)
    with working(places) as work:
        entry = version.entry or LockEntry(source="what was here before", source_type="local")
        prepared = Preparation(places, LocalFetcher(), work).version(name, kept, entry)
        show_prepared([prepared], sys.stderr)
        check(prepared, options)
        ask("Put this version back?", options)
        roll_back(places, work, prepared, version)
    tell([prepared], places)
    return 0


COMMAND = Command(
    options=SkillsRollbackOptions,
    work=skills_rollback,
    examples=("skills rollback release-notes", "skills rollback release-notes --yes"),
)
