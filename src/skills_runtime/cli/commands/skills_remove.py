"""skills remove: an installed skill and its entry in the lock file."""

from dataclasses import dataclass
from typing import Annotated

import typer

from skills_runtime.cli.program import Command, Program
from skills_runtime.cli.skill_options import Force, ScopeOptions


@dataclass(frozen=True, kw_only=True)
class SkillsRemoveOptions(ScopeOptions):
    """What `skills remove` takes."""

    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Installed skills.")]
    force: Force = False


def skills_remove(options: SkillsRemoveOptions, program: Program) -> int:
    """Remove skills; `skills rollback` brings them back."""
    from skills_runtime.cli.machine import checked_text
    from skills_runtime.cli.skill_installing import places_of
    from skills_runtime.skills.install.operations import remove

    del program
    remove(places_of(options), [checked_text(name, "NAME") for name in options.names], unlocked_too=options.force)
    return 0


COMMAND = Command(
    options=SkillsRemoveOptions,
    work=skills_remove,
    examples=("skills remove release-notes", "skills remove release-notes --scope user"),
)
