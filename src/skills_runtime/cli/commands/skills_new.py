"""skills new: a directory with a valid `SKILL.md` to begin with."""

from dataclasses import dataclass
from typing import Annotated

import typer

from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class SkillsNewOptions:
    """What `skills new` takes."""

    name: Annotated[str, typer.Argument(metavar="NAME", help="Small letters, digits and single hyphens.")]
    dir: Annotated[str, typer.Option("--dir", metavar="DIR", help="The directory it is put into.")] = ".agents/skills"
    description: Annotated[
        str, typer.Option("--description", metavar="TEXT", help="What it does, and when it is to be used.")
    ] = ""


def skills_new(options: SkillsNewOptions, program: Program) -> int:
    """Begin a new skill."""
    from skills_runtime.cli.machine import checked_path, checked_text, shown_path
    from skills_runtime.cli.render.text import one_line
    from skills_runtime.skills.standard.writing import new_skill

    del program
    file = new_skill(
        checked_text(options.name, "NAME"),
        checked_path(options.dir, option="--dir"),
        checked_text(options.description, "--description").strip(),
    )
    print(one_line(shown_path(file)))
    return 0


COMMAND = Command(
    options=SkillsNewOptions,
    work=skills_new,
    examples=(
        "skills new release-notes",
        'skills new release-notes --dir skills --description "Writes release notes. Use before a release."',
    ),
)
