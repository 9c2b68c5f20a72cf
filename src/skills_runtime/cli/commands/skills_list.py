"""skills list: every skill there is, where it comes from, and whether it is offered."""

import sys
from dataclasses import dataclass

from skills_runtime.cli.options import ConfigOptions, Json
from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class SkillsListOptions(ConfigOptions):
    """What `skills list` takes."""

    json: Json = False


def skills_list(options: SkillsListOptions, program: Program) -> int:
    """List every skill, and say which are offered and why others are not."""
    from skills_runtime.cli.render.skill_lists import show_list, write_list
    from skills_runtime.cli.settings import resolve_settings
    from skills_runtime.cli.skill_listing import listed_skills

    found = listed_skills(resolve_settings(options, program=program.name))
    (write_list if options.json else show_list)(found, sys.stdout)
    return 0


COMMAND = Command(
    options=SkillsListOptions,
    work=skills_list,
    examples=("skills list", "skills list --workspace-root ./project --json"),
)
