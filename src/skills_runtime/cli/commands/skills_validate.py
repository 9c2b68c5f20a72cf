"""skills validate: is a skill what the specification asks for?"""

import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from skills_runtime.cli.options import Json
from skills_runtime.cli.program import Command, Misuse, Program


@dataclass(frozen=True, kw_only=True)
class SkillsValidateOptions:
    """What `skills validate` takes."""

    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...", help="Skills, or directories of skills. Exit code: 0 valid, 20 not, 22 not there."
        ),
    ]
    strict: Annotated[bool, typer.Option("--strict", help="Hold them to the specification; this is the default.")] = (
        False
    )
    lenient: Annotated[bool, typer.Option("--lenient", help="Only ask whether they can be used here.")] = False
    json: Json = False


def skills_validate(options: SkillsValidateOptions, program: Program) -> int:
    """Say what is wrong with skills, line by line."""
    from skills_runtime.cli.machine import checked_path
    from skills_runtime.cli.render.skills import show_findings, write_findings
    from skills_runtime.cli.skill_reports import checked_skills, exit_code

    del program
    if options.strict and options.lenient:
        raise Misuse("`--strict` and `--lenient` exclude each other")
    paths = [checked_path(path, option="PATH") for path in options.paths]
    reports = checked_skills(paths, "lenient" if options.lenient else "strict")
    (write_findings if options.json else show_findings)(reports, sys.stdout)
    return exit_code(reports)


COMMAND = Command(
    options=SkillsValidateOptions,
    work=skills_validate,
    examples=("skills validate ./my-skill", "skills validate .agents/skills --lenient --json"),
)
