"""skills show: everything that is known of one skill."""

import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from skills_runtime.cli.options import ConfigOptions, Json
from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class SkillsShowOptions(ConfigOptions):
    """What `skills show` takes."""

    skill: Annotated[
        str,
        typer.Argument(
            metavar="PATH|NAME", help="The directory of a skill, its mention, or its name if only one has it."
        ),
    ]
    json: Json = False


def skills_show(options: SkillsShowOptions, program: Program) -> int:
    """Show what a skill says of itself, what it brings and what is odd about it."""
    from skills_runtime.cli.machine import checked_text
    from skills_runtime.cli.render.skills import show_skill, write_skill
    from skills_runtime.cli.settings import resolve_settings
    from skills_runtime.cli.skill_reports import described, found_by_name, found_by_path

    text = checked_text(options.skill, "PATH|NAME")
    found = found_by_path(text) or found_by_name(text, resolve_settings(options, program=program.name))
    (write_skill if options.json else show_skill)(described(found), sys.stdout)
    return 0


COMMAND = Command(
    options=SkillsShowOptions,
    work=skills_show,
    examples=("skills show ./my-skill", "skills show '$[web:mvp].article-writer' --json"),
)
