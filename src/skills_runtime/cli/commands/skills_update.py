"""skills update: newer versions of installed skills, with everything that changes."""

from dataclasses import dataclass, field
from typing import Annotated

import typer

from skills_runtime.cli.program import Command, Program
from skills_runtime.cli.skill_options import AgreeOptions, SigningOptions


@dataclass(frozen=True, kw_only=True)
class SkillsUpdateOptions(AgreeOptions, SigningOptions):
    """What `skills update` takes."""

    names: Annotated[list[str], typer.Argument(metavar="NAME", help="Locked skills; all of them if none is named.")] = (
        field(default_factory=list[str])
    )


def skills_update(options: SkillsUpdateOptions, program: Program) -> int:
    """Update skills, after showing what changes and asking."""
    from skills_runtime.cli.skill_installing import bring, places_of, tell, trust_of

    del program
    places = places_of(options)
    changed = bring(
        places, options, trust_of(options), lambda work: work.update(options.names or []), "Take these changes?"
    )
    tell(changed, places, otherwise="nothing was changed: there is nothing newer than what is installed")
    return 0


COMMAND = Command(
    options=SkillsUpdateOptions, work=skills_update, examples=("skills update", "skills update release-notes --yes")
)
